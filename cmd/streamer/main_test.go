package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisuse: the first line states what is wrong with the arguments, the second is
// the usage, and the exit status is 2.
func TestMisuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "streamer follows the tool calls in LLM streams."},
		{"dmo", `streamer: unknown command "dmo"`},
		{"serve --prot 1", "streamer serve: flag provided but not defined: -prot"},
		{"serve --partitions x", `streamer serve: invalid value "x" for flag -partitions`},
		{"serve --lang fr", `invalid value "fr" for flag -lang: need en or zh`},
		{"serve --log-level loud", "need debug, info, warn or error"},
		{"serve --args-timeout 5", "-args-timeout: parse error: need a duration with its unit, such as "},
		{"serve --args-timeout -5s", "invalid --args-timeout -5s: need at least 0"},
		{"serve --repair-bytes -1", "invalid --repair-bytes -1: need at least 0"},
		{"help dmo", `streamer: unknown command "dmo"`},
		{"serve --tool-timeout slow", "such as slow_*=30m"},
		{"serve here", `streamer serve: unexpected argument "here"`},
		{"demo --speed 3", `streamer demo: invalid value "3" for flag -speed: need 1, 10 or max`},
		{"replay file", "streamer replay: need --session"},
		{"replay --session s --format opanai file", "need openai-chat, "},
		{"replay --session s --follow -", "streamer replay: --follow: need a FILE"},
		{"replay --session s --speed 2 -", `streamer replay: invalid value "2" for flag -speed: need 1, 10 or max`},
		{"assemble --format opanai file", "need openai-chat, "},
		{"assemble a b", "streamer assemble: got 2 files: need at most one FILE"},
		{"interrupt", "streamer interrupt: got 0 sessions: need one SESSION"},
		{"interrupt " + strings.Repeat("x", 300), "streamer interrupt: session: session token of 300 bytes is longer than 256"},
		{"verify s " + strings.Repeat("x", 300), "streamer verify: session: session token of 300 bytes is longer than 256"},
		{"bench --call 2", "streamer bench: invalid --call 2: need at least 3"},
		{"bench --inputs 1000", "streamer bench: invalid --inputs 1000: need at least 100 per session"},
		{"bench --rounds 0", "streamer bench: invalid --rounds 0: need at least 1"},
		{"bench --sessions 99", "streamer bench: invalid --sessions 99: need at least 100"},
		{"bench --duration 10ms", "streamer bench: invalid --duration 10ms: need at least 1s"},
		{"recover now", `streamer recover: unexpected argument "now"`},
	} {
		var out, errs strings.Builder
		got := run(t.Context(), stdio{strings.NewReader(""), &out, &errs}, strings.Fields(c.args))
		first, rest, _ := strings.Cut(errs.String(), "\n")
		if got != exitUsage || !strings.Contains(first, c.want) || out.Len() > 0 {
			t.Errorf("%q: status %d, first line %q, standard output %q, want status 2 and %q", c.args, got, first, out.String(), c.want)
		}
		if c.args != "" && strings.Count(rest, "\n") > 1 {
			t.Errorf("%q: %s", c.args, rest)
		}
	}
}

// TestHelp: help that was asked for is printed to standard output, with exit
// status 0.
func TestHelp(t *testing.T) {
	asked := []string{"help", "--help"}
	for _, c := range commands() {
		asked = append(asked, c.name+" --help", c.name+" -h", "help "+c.name)
	}
	for _, args := range asked {
		if strings.HasPrefix(args, "version") {
			continue // it has no flags
		}
		var out, errs strings.Builder
		if got := run(t.Context(), stdio{strings.NewReader(""), &out, &errs}, strings.Fields(args)); got != 0 || errs.Len() > 0 {
			t.Errorf("%q: status %d, standard error %q", args, got, errs.String())
		}
		if name := strings.Fields(args)[0]; name != "--help" && name != "help" && !strings.Contains(out.String(), "streamer "+name) {
			t.Errorf("%q: %s", args, out.String())
		}
	}
}

// maxLines bounds the Go code of this package without tests: the commands read
// flags and print, and the work is done in the packages below.
const maxLines = 1000

func TestThin(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines >= maxLines {
		t.Errorf("got %d lines, want fewer than %d", lines, maxLines)
	}
}
