package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/session"
)

//go:embed sessions/*.jsonl
var files embed.FS

// names returns the names of the recorded sessions, the one to watch first.
func names() []string {
	return []string{"trip-planner", "code-review", "data-analyst", "support-desk", "supplier-check", "night-report"}
}

// about describes a session in the list of the page until it has begun.
func about(name string) string {
	switch name {
	case "trip-planner":
		return "Three calls at once, a tool that fails, and one without a result"
	case "code-review":
		return "Args that are cut off, a test run that fails, a denied call"
	case "data-analyst":
		return "Two sub-agents at once, and a call that waits for approval"
	case "support-desk":
		return "A new message cancels two calls, then all is stopped"
	case "supplier-check":
		return "A tree of three sub-agents, and a result of 72 KB"
	default:
		return "The stream stops in the middle of the args"
	}
}

func recording(name string) ([]client.Recorded, error) {
	data, err := files.ReadFile("sessions/" + name + ".jsonl")
	if err != nil {
		return nil, fmt.Errorf("recorded session %s: %w", name, err)
	}
	var list []client.Recorded
	for line := range bytes.Lines(data) {
		r, ok := client.ParseRecorded(line)
		if !ok {
			return nil, fmt.Errorf("recorded session %s, line %d: not a recorded input", name, len(list)+1)
		}
		list = append(list, r)
	}
	return list, nil
}

func fold(list []client.Recorded) []events.Event {
	var a session.Assembly
	for _, in := range list {
		a.Input(in.Kind, in.At, in.Data)
	}
	return a.Events
}

// round returns the inputs of a part for the given round, from 1. From the second
// round on, the ids of messages and calls are others: a repeated message would
// continue the one of the round before.
func (s *part) round(n int) []client.Recorded {
	if n == 1 {
		return s.inputs
	}
	rename := renamer(fold(s.inputs), n)
	list := slices.Clone(s.inputs)
	for i := range list {
		list[i].Data = []byte(rename.Replace(string(list[i].Data)))
	}
	return list
}

// renamer returns a replacer that appends the number of a round to every id of a
// message, a call or a wait in list.
func renamer(list []events.Event, n int) *strings.Replacer {
	ids := map[string]bool{}
	for _, e := range list {
		if e.Place != nil {
			ids[e.MessageID] = true
		}
		ids[e.ID], ids[e.InterruptID] = true, true
	}
	delete(ids, "")
	var pairs []string
	for id := range ids {
		pairs = append(pairs, quoted(id), quoted(fmt.Sprintf("%s-%d", id, n)))
	}
	return strings.NewReplacer(pairs...)
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // a string always marshals
	return string(data)
}
