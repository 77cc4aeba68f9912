package decode

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlainText reads the output of a terminal program with lines of plain text
// between its events.
func TestPlainText(t *testing.T) {
	const started, failed = `{"type":"turn.started"}`, `{"type":"turn.failed","error":{"message":"x"}}`
	for text, want := range map[string]string{
		"Error executing tool read: no such file": "",
		"data is missing":                         "",
		"[startup] ready":                         "",
		"{ code: 'ENOENT' }":                      "",
		"{":                                       "problem",
		`{"type":"turn.failed","err`:              "problem",
		`{ "type": tru}`:                          "problem",
		`{"some":"object"}`:                       "problem",
		`"text"`:                                  "",
		"12":                                      "",
		"caf\xe9":                                 "",
	} {
		t.Run(text, func(t *testing.T) {
			for _, format := range []string{"", "codex-exec"} {
				var s State
				var r Reader
				transcript(&r, &s, []byte(started), format)
				got := transcript(&r, &s, []byte(text), format) + transcript(&r, &s, []byte(text+"\n"+failed+"\n"), format)
				if strings.Contains(got, "problem") != (want != "") || !strings.HasSuffix(got, "run_end Text=\"x\" Status=\"error\"\n") {
					t.Errorf("%s, format %q\n got %s\nwant %q, and the end of the run", text, format, got, want)
				}
			}
		})
	}
}

// TestEarlyPlainText reads plain text before the first event. It is reported once the
// stream is known to be of another program, or ends.
func TestEarlyPlainText(t *testing.T) {
	const text = "problem bad_json at 0 line 0: 'L' where a JSON value is expected\n"
	for _, test := range []struct{ then, format, want string }{
		{`{"type":"turn.started"}`, "", "run_start Explicit=true\n"},
		{`{"type":"turn.started"}`, "codex-exec", "run_start Explicit=true\n"},
		{textEvent, "", "text Message=\"c\" IDVaries=true Text=\"x\"\n" + text},
		{textEvent, "openai-chat", "text Message=\"c\" IDVaries=true Text=\"x\"\n" + text},
		{`{"some":"object"}`, "", "problem unknown_format"},
		{"", "", ""},
		{"[info] a\nb c\n{\"type\":\"turn.started\"}", "", "run_start Explicit=true\n"},
	} {
		t.Run(fmt.Sprintf("%.60s", test.then+" "+test.format), func(t *testing.T) {
			var s State
			var r Reader
			if got := transcript(&r, &s, []byte("Loaded cached credentials.\n"), ""); got != "" || !s.Pending() {
				t.Errorf("got %q at once, cut %v; want nothing, true", got, s.Pending())
			}
			clone := *reloaded(t, &s)
			if got := transcript(&r, &clone, []byte(test.then), test.format); !strings.HasPrefix(got, test.want) || clone.Pending() != (test.then == "") {
				t.Errorf("then %s: got %q, cut %v, want %q", test.then, got, clone.Pending(), test.want)
			}
			r.End(&s, Limits{})
			if !r.Next() || r.Problem() == nil || r.Next() || s.Pending() {
				t.Errorf("the end of the stream reports %v, want one problem", r.Problem())
			}
		})
	}
}

// TestPlainTextIsBounded reads more plain text than is held.
func TestPlainTextIsBounded(t *testing.T) {
	var s State
	var r Reader
	for range maxEarly {
		if got := transcript(&r, &s, []byte("hello world\n"), ""); got != "" {
			t.Fatalf("got %q, want nothing yet", got)
		}
	}
	if got := strings.Count(transcript(&r, &s, []byte("hello world\n"), ""), "problem"); got != maxEarly+1 || s.Pending() {
		t.Errorf("got %d problems, cut %v, want all", got, s.Pending())
	}
}

// TestPlainTextOfOtherFormats checks that plain text is reported at once where the
// stream is not that of a terminal program.
func TestPlainTextOfOtherFormats(t *testing.T) {
	var s State
	var r Reader
	transcript(&r, &s, []byte(textEvent), "")
	if got := transcript(&r, &s, []byte("Error: no such file"), ""); !strings.HasPrefix(got, "problem bad_json") {
		t.Errorf("got %q, want a problem", got)
	}
}

// TestEarlyPlainTextCut cuts the plain text before the first event of a terminal program
// into inputs. The beginning of the text shows that it is prose.
func TestEarlyPlainTextCut(t *testing.T) {
	inputs := []string{"Loaded cached cre", "dent", "ials.\nReading the ", "settings.\n", `{"type":"turn.started"}`}
	if got := readAll(t, inputs...); strings.Contains(got, "problem") || !strings.HasPrefix(got, "run_start") {
		t.Errorf("%q\n got %s\nwant the start of a run", inputs, got)
	}
	inputs[len(inputs)-1] = stopEvent
	if got := readAll(t, inputs...); strings.Count(got, "problem") != 2 {
		t.Errorf("%q\n got %s\nwant two problems", inputs, got)
	}
}
