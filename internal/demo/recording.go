package demo

import (
	"bytes"
	"embed"
	"fmt"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/session"
)

//go:embed sessions/*.jsonl
var files embed.FS

// names returns the names of the recorded sessions. The first is the one to watch
// first.
func names() []string {
	return []string{"trip-planner", "code-review", "data-analyst", "support-desk", "supplier-check", "night-report"}
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
