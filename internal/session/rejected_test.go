package session

import (
	"slices"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestRejectedInputs: a rejected event names the input in which the unused text begins,
// also if a later input shows that nothing continues it. The clock input at the end is
// the one of the command replay.
func TestRejectedInputs(t *testing.T) {
	const event = `{"id":"c","object":"chat.completion.chunk","choices":[{"delta":{"content":"x"}}]}`
	for _, c := range []struct {
		name  string
		lines []string
		want  []uint64
	}{
		{"prose", []string{"not json\n", "this is garbage\n", "more garbage\n"}, []uint64{1, 2, 3}},
		{"prose before a format", []string{"not json\n", event}, []uint64{1}},
		{"more prose than is held", []string{"a b\n", "b c\n", "c d\n", "d e\n", "e f\n"}, []uint64{5, 1, 2, 3, 4}},
		{"cut JSON, then prose", []string{event, "{\"a\":\n", "more\n", event}, []uint64{2, 3}},
		{"cut JSON, then an event", []string{event, "{\"a\":\n", event}, []uint64{2}},
		{"two cut values, then prose", []string{event, "{\"a\":\n", "{\"b\":\n", "more\n", event}, []uint64{2, 3, 4}},
		{"two cut values", []string{event, "{\"a\":\n", "{\"b\":\n"}, []uint64{2, 3}},
		{"a cut value, then an event where a value may be", []string{"{\"a\":\n", event, "{\"b\":\n"}, []uint64{1, 3}},
		{"a cut array, then SSE", []string{event, "[1,\n", "{\"b\":", "data: " + event + "\n\n"}, []uint64{2, 3}},
		{"JSON in three lines without an end", []string{"{\n", "\"a\":1,\n", "\"b\":2\n"}, []uint64{1}},
		{"a whole value in three lines", []string{"{\n", "\"a\":1\n", "}\n"}, []uint64{1}},
		{"cut SSE, then another event", []string{event, "data: {\"a\":", "data: " + event + "\n\n", "nonsense\n"}, []uint64{2, 4}},
		{"two events of SSE, the second cut", []string{"data: " + event[:20], event[20:] + "\n\ndata: {\"a\":"}, []uint64{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rejectedInputs(t, c.lines)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %q: rejected are the inputs %v, want %v", c.name, c.lines, got, c.want)
			}
		})
	}
}

// rejectedInputs folds lines, each as an input, and then the end of a replay. It
// returns the inputs that rejected events name. The state is stored and loaded between
// inputs.
func rejectedInputs(t *testing.T, lines []string) (named []uint64) {
	t.Helper()
	s := new(State)
	fold := func(seq int, kind inputs.Kind, data string) {
		in := inputs.Input{Seq: uint64(seq), At: time.UnixMilli(int64(seq)), Token: "s", Kind: kind, Data: []byte(data)}
		for _, e := range Fold(nil, s, Input{Input: in}) {
			if e.Type == events.Rejected {
				named = append(named, e.Input)
			}
		}
	}
	for i, line := range lines {
		fold(i+1, inputs.Delta, line)
		data, err := s.Marshal()
		if err == nil {
			s, err = Load(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fold(len(lines)+1, inputs.Clock, `{"kind":"flush","cut":true}`)
	return named
}

// TestUnusableLines: among all sequences of three lines, a rejected event never names a
// line that is an event, or the input at the end. A line that nothing can continue is
// named once.
func TestUnusableLines(t *testing.T) {
	const event = `{"id":"c","object":"chat.completion.chunk","choices":[{"delta":{"content":"x"}}]}` + "\n"
	prose := []string{"not json\n", "this is garbage\n", "moo\n", "<html>\n", "12:30 warning\n", "{]\n"}
	all := append([]string{event, "{\"a\":\n", "[1,\n", "data: {\"a\":\n\n", "\"x\n"}, prose...)
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				lines := []string{a, b, c}
				named := rejectedInputs(t, lines)
				for i, line := range lines {
					n := 0
					for _, seq := range named {
						if seq == uint64(i+1) {
							n++
						}
					}
					if line == event && n != 0 || slices.Contains(prose, line) && n != 1 {
						t.Errorf("%q: line %d is named %d times: %v", lines, i+1, n, named)
					}
				}
				for _, seq := range named {
					if seq < 1 || seq > 3 {
						t.Errorf("%q: input %d is named", lines, seq)
					}
				}
			}
		}
	}
}
