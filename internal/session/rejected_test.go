package session

import (
	"slices"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// TestRejectedInputs: a rejected event names the input in which the unused text begins,
// also if a later input shows that nothing continues it. The clock input at the end is
// the one of the command replay.
func TestRejectedInputs(t *testing.T) {
	const event = `{"id":"c","object":"chat.completion.chunk","choices":[{"delta":{"content":"x"}}]}`
	newest, old := lifecycle.NewRules(), lifecycle.NewRules()
	old.Version = 4
	for _, c := range []struct {
		name  string
		lines []string
		rules *Rules
		want  []uint64
	}{
		{"prose", []string{"not json\n", "this is garbage\n", "more garbage\n"}, &newest, []uint64{1, 2, 3}},
		{"prose before a format", []string{"not json\n", event}, &newest, []uint64{1}},
		{"more prose than is held", []string{"a b\n", "b c\n", "c d\n", "d e\n", "e f\n"}, &newest, []uint64{5, 1, 2, 3, 4}},
		{"cut JSON, then prose", []string{event, "{\"a\":\n", "more\n", event}, &newest, []uint64{2, 3}},
		{"cut JSON, then an event", []string{event, "{\"a\":\n", event}, &newest, []uint64{2}},
		{"JSON in three lines without an end", []string{"{\n", "\"a\":1,\n", "\"b\":2\n"}, &newest, []uint64{1}},
		{"a whole value in three lines", []string{"{\n", "\"a\":1\n", "}\n"}, &newest, []uint64{1}},
		{"cut SSE, then another event", []string{event, "data: {\"a\":", "data: " + event + "\n\n", "nonsense\n"}, &newest, []uint64{2, 4}},
		{"two events of SSE, the second cut", []string{"data: " + event[:20], event[20:] + "\n\ndata: {\"a\":"}, &newest, []uint64{2}},
		{"older settings", []string{event, "{\"a\":\n"}, &old, nil},
	} {
		var s State
		var got []uint64
		fold := func(seq int, kind inputs.Kind, data string) {
			in := inputs.Input{Seq: uint64(seq), At: time.UnixMilli(int64(seq)), Token: "s", Kind: kind, Data: []byte(data)}
			for _, e := range Fold(nil, &s, Input{Input: in, Rules: c.rules}) {
				if e.Type == events.Rejected {
					got = append(got, e.Input)
				}
			}
		}
		for i, line := range c.lines {
			fold(i+1, inputs.Delta, line)
			data, err := s.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(data)
			if err != nil {
				t.Fatal(err)
			}
			s = *loaded
		}
		fold(len(c.lines)+1, inputs.Clock, `{"kind":"flush","cut":true}`)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q: rejected are the inputs %v, want %v", c.name, c.lines, got, c.want)
		}
	}
}
