package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// TestFamilies deletes each family of events from each stream. A call that an event of
// another family still states is not lost, and has its args.
func TestFamilies(t *testing.T) {
	for _, s := range eventStreams(t) {
		t.Run(s.name, func(t *testing.T) {
			done := map[string]bool{}
			for _, line := range s.lines {
				for _, family := range familiesOf(line) {
					if done[family] {
						continue
					}
					done[family] = true
					rest := slices.DeleteFunc(slices.Clone(s.lines), func(l []byte) bool { return slices.Contains(familiesOf(l), family) })
					if err := s.keeps(rest, 0, "without "+family); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestLostDeltas drops each delta in turn. Where a later event states the whole call, the
// call has its args.
func TestLostDeltas(t *testing.T) {
	for _, s := range eventStreams(t) {
		t.Run(s.name, func(t *testing.T) {
			for _, i := range s.deltas() {
				rest := slices.Delete(slices.Clone(s.lines), i, i+1)
				if err := s.keeps(rest, i, fmt.Sprintf("without line %d", i+1)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// eventStream is a stream of which each line is an event.
type eventStream struct {
	name  string // format, and name of the file
	lines [][]byte
	calls []*session.AssembledCall // with args, of the whole stream
}

// eventStreams returns the streams of the repository and, if they are available, those of
// others. Outside of campaigns it returns some of the latter.
func eventStreams(t *testing.T) (list []eventStream) {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(decoders, "*", "*.jsonl"))
	if err != nil || len(own) == 0 {
		t.Fatal("no streams", err)
	}
	var others []string
	for _, pattern := range []string{"found/*.jsonl", "found/recorded/*.jsonl", "corpus*/*/*.jsonl", agents + "/*/*.jsonl"} {
		files, _ := filepath.Glob(testkit.Shared("formats", filepath.FromSlash(pattern)))
		others = append(others, files...)
	}
	for i, file := range append(own, others...) {
		if i >= len(own) && (i-len(own))%testkit.Stride(6) > 0 {
			continue // the streams have much in common
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 256<<10 {
			continue
		}
		s := eventStream{name: filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".jsonl")}
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				s.lines = append(s.lines, line)
			}
		}
		for _, c := range fold(s.lines).Calls() {
			if c.Complete && c.ArgsValid && len(c.Args) > len("{}") {
				s.calls = append(s.calls, c)
			}
		}
		list = append(list, s)
	}
	return list
}

func fold(lines [][]byte) *session.Assembly {
	a := new(session.Assembly)
	for _, line := range lines {
		a.Line(append(slices.Clone(line), '\n'))
	}
	a.End()
	return a
}

// deltas returns the positions of the events that at most begin or continue something. Of a
// long stream, and outside of campaigns, it returns some.
func (s *eventStream) deltas() (list []int) {
	rules := lifecycle.DefaultRules()
	rules.Deltas = lifecycle.Every
	state, reader := new(session.State), new(session.Reader)
	for i, line := range s.lines {
		in := session.Input{Rules: &rules, Reader: reader, Input: inputs.Input{Seq: uint64(i + 1), At: time.UnixMilli(int64(i)), Token: "s", Kind: inputs.Delta, Data: line}}
		out := session.Fold(nil, state, in)
		other := slices.ContainsFunc(out, func(e events.Event) bool {
			return !slices.Contains([]events.Type{events.ToolCallStart, events.ToolCallArgsDelta, events.AgentResponseChunk, events.MessageStarted}, e.Type)
		})
		if !other && (len(s.lines) < 60 || i%testkit.Of(5, 1) == 0) {
			list = append(list, i)
		}
	}
	return list
}

// keeps returns an error if the rest of a stream states a call of it, in or after the event
// at a position, that its fold does not have.
func (s *eventStream) keeps(rest [][]byte, from int, what string) error {
	var got []*session.AssembledCall
	for _, c := range s.calls {
		at := from + slices.IndexFunc(rest[from:], func(line []byte) bool { return states(line, c) })
		if at < from || c.ID == c.Name {
			continue
		}
		if got == nil {
			got = fold(rest).Calls()
		}
		if !slices.ContainsFunc(got, func(g *session.AssembledCall) bool {
			return g.Name == c.Name && (g.ID == c.ID || c.IDSynthesized) && sameArgs(g.Args, c.Args)
		}) {
			var text []string
			for _, g := range got {
				text = append(text, fmt.Sprintf("%s %s %s %v", g.ID, g.Name, g.ArgsText, g.Complete))
			}
			return fmt.Errorf("%s: no call %s %s(%s), which this event states: %.400s\ngot %s", what, c.ID, c.Name, c.ArgsText, rest[at], strings.Join(text, "; "))
		}
	}
	return nil
}

func sameArgs(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// states reports whether an event has the id, the name and all args of a call in one
// object, which is no list of messages.
func states(line []byte, c *session.AssembledCall) bool {
	name, _ := json.Marshal(c.Name)
	history := bytes.Contains(line, []byte(`"type":"api-request-blob"`)) // a message of a request, perhaps of another agent
	if history || !bytes.Contains(line, name) {
		return false
	}
	var v, args any
	if json.Unmarshal(line, &v) != nil || json.Unmarshal(c.Args, &args) != nil {
		return false
	}
	return statedIn(v, c, args)
}

func statedIn(v any, c *session.AssembledCall, args any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return statedIn(e, c, args) })
	case map[string]any:
		for key, e := range v {
			if !repeated(key) && statedIn(e, c, args) {
				return true
			}
		}
		var hasID, hasName, hasArgs bool
		visit(v, 2, func(e any) {
			hasID = hasID || e == c.ID
			hasName = hasName || e == c.Name
			hasArgs = hasArgs || reflect.DeepEqual(e, args) || e == c.ArgsText
		})
		return hasName && hasArgs && (hasID || c.IDSynthesized)
	}
	return false
}

// visit visits the members of an object, and those of the objects in it.
func visit(v map[string]any, levels int, do func(any)) {
	for _, e := range v {
		do(e)
		if m, ok := e.(map[string]any); ok && levels > 1 {
			visit(m, levels-1, do)
		}
	}
}

// repeated reports whether a member repeats a history, or is what a framework keeps of an
// answer of the provider beside its own form of it.
func repeated(key string) bool {
	switch key {
	case "messages", "history", "automaticFunctionCallingHistory", "replacement_history", "rawEvent", "response_metadata", "additional_kwargs":
		return true
	}
	return false
}

// familiesOf returns the families of an event: its types, at each level, and those of each
// member in it.
func familiesOf(line []byte) (list []string) {
	var v any
	if json.Unmarshal(line, &v) != nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	top := typesOf(m)
	list = append(list, top)
	for _, key := range []string{"data", "payload", "params", "item", "event", "part", "delta", "update", "message", "content_block", "msg", "properties"} {
		if in, ok := m[key].(map[string]any); ok {
			if types := typesOf(in); types != "" {
				list = append(list, top+" "+key+":"+types)
			}
		}
	}
	return list
}

func typesOf(m map[string]any) string {
	var list []string
	for _, key := range []string{"type", "event", "event_type", "event_kind", "method", "sessionUpdate", "subtype", "role", "object"} {
		if s, ok := m[key].(string); ok {
			list = append(list, s)
		}
	}
	return strings.Join(list, " ")
}
