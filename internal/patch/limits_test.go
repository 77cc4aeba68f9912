package patch_test

import (
	"strings"
	"testing"

	"streamer/internal/patch"
)

// TestLimits checks that an input at a limit is repaired, and that an input beyond
// it is refused with an error that names the limit.
func TestLimits(t *testing.T) {
	const (
		call  = `{"id":"a","function":{"name":"x","arguments":"{}"}}`
		turn  = `{"role":"assistant","tool_calls":[` + call + `]}`
		turn2 = `{"role":"assistant","tool_calls":[` + call + `,` + call + `]}`
		user  = `{"role":"user","content":"hm"}`
	)
	for _, c := range []struct {
		what, input string
		limits      patch.Limits
		want        string // part of the error, "" for no error
	}{
		{"bytes", `[` + user + `]`, patch.Limits{Bytes: len(user) + 2}, ""},
		{"one byte more", `[` + user + `]`, patch.Limits{Bytes: len(user) + 1}, "bytes"},
		{"messages", `[` + user + `,` + user + `]`, patch.Limits{Messages: 2}, ""},
		{"one message more", `[` + user + `,` + user + `,` + user + `]`, patch.Limits{Messages: 2}, "messages"},
		{"one line more", user + "\n" + user + "\n" + user, patch.Limits{Messages: 2}, "messages"},
		{"depth", `[` + turn + `]`, patch.Limits{Depth: 5}, ""},
		{"one level more", `[` + turn + `]`, patch.Limits{Depth: 4}, "deep"},
		{"unclosed levels", strings.Repeat("[", 100_000), patch.Limits{}, "deep"},
		{"unclosed levels in a message", `[{"role":"user","content":` + strings.Repeat(`{"a":`, 100_000), patch.Limits{}, "deep"},
		{"calls", `[` + turn2 + `]`, patch.Limits{Calls: 2}, ""},
		{"one call more", `[` + user + `,` + turn2 + `]`, patch.Limits{Calls: 1}, "message 1"},
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
