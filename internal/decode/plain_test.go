package decode

import (
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
		for _, format := range []string{"", "codex-exec"} {
			var s State
			var r Reader
			transcript(&r, &s, []byte(started), format)
			got := transcript(&r, &s, []byte(text), format) + transcript(&r, &s, []byte(text+"\n"+failed+"\n"), format)
			if strings.Contains(got, "problem") != (want != "") || !strings.HasSuffix(got, "run_end Text=\"x\" Status=\"error\"\n") {
				t.Errorf("%s, format %q\n got %s\nwant %q, and the end of the run", text, format, got, want)
			}
		}
	}
}

// TestPlainTextOfOtherFormats checks that plain text is reported where the stream is
// not that of a terminal program.
func TestPlainTextOfOtherFormats(t *testing.T) {
	for _, before := range []string{"", textEvent} {
		var s State
		var r Reader
		transcript(&r, &s, []byte(before), "")
		if got := transcript(&r, &s, []byte("Error: no such file"), ""); !strings.HasPrefix(got, "problem bad_json") {
			t.Errorf("after %q: got %q, want a problem", before, got)
		}
	}
}
