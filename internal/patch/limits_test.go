package patch_test

import (
	"strings"
	"testing"

	"streamer/internal/patch"
)

// TestLimits: each limit has an error of its own, that says what was too much
// and where, and what is right at the limit goes.
func TestLimits(t *testing.T) {
	const (
		call  = `{"id":"a","function":{"name":"x","arguments":"{}"}}`
		turn  = `{"role":"assistant","tool_calls":[` + call + `]}`
		turn2 = `{"role":"assistant","tool_calls":[` + call + `,` + call + `]}`
		said  = `{"role":"user","content":"hm"}`
	)
	for _, c := range []struct {
		what, input string
		limits      patch.Limits
		want        string // what the error has to say, "" for none
	}{
		{"bytes", `[` + said + `]`, patch.Limits{Bytes: len(said) + 2}, ""},
		{"a byte more", `[` + said + `]`, patch.Limits{Bytes: len(said) + 1}, "bytes"},
		{"messages", `[` + said + `,` + said + `]`, patch.Limits{Messages: 2}, ""},
		{"a message more", `[` + said + `,` + said + `,` + said + `]`, patch.Limits{Messages: 2}, "messages"},
		{"a line more", said + "\n" + said + "\n" + said, patch.Limits{Messages: 2}, "messages"},
		{"depth", `[` + turn + `]`, patch.Limits{Depth: 5}, ""},
		{"a level more", `[` + turn + `]`, patch.Limits{Depth: 4}, "deep"},
		{"levels without an end", strings.Repeat("[", 100_000), patch.Limits{}, "deep"},
		{"levels in a message", `[{"role":"user","content":` + strings.Repeat(`{"a":`, 100_000), patch.Limits{}, "deep"},
		{"calls", `[` + turn2 + `]`, patch.Limits{Calls: 2}, ""},
		{"a call more", `[` + said + `,` + turn2 + `]`, patch.Limits{Calls: 1}, "message 1"},
	} {
		t.Run(c.what, func(t *testing.T) {
			r, err := patch.Repair(patch.OpenAI, []byte(c.input), patch.Options{Limits: c.limits})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("input %.200s: %v", c.input, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "patch: ")):
				t.Errorf("input %.200s\n got %s, %v\nwant an error with %q", c.input, r.History, err, c.want)
			}
		})
	}
}
