package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestMisuse: the first line states what is wrong with the arguments, the second is
// the usage, and the exit status is 2.
func TestMisuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "Usage: streamer <command> [flags]"},
		{"dmo", `streamer: unexpected argument dmo, did you mean "demo"?`},
		{"serve --http-lsten x", `streamer serve: unknown flag --http-lsten, did you mean "--http-listen"?`},
		{"serve --partitions x", `streamer serve: --partitions: expected a valid 64 bit int but got "x"`},
		{"serve --lang fr", `--lang must be one of "en","zh" but got "fr"`},
		{"serve --log-level loud", `--log-level must be one of "debug","info","warn","error"`},
		{"serve --storage tape", `--storage must be one of "file","memory" but got "tape"`},
		{"serve --args-timeout 5", "missing unit in duration"},
		{"serve --args-timeout -5s", "invalid --args-timeout -5s: need at least 0"},
		{"serve --repair-bytes -1", "invalid --repair-bytes -1: need at least 0"},
		{"help dmo", "streamer: unexpected argument dmo"},
		{"serve --tool-timeout slow", "such as slow_*=30m"},
		{"serve here", "streamer serve: unexpected argument here"},
		{"serve --config none.yaml", "streamer: --config: open none.yaml: no such file"},
		{"demo --speed 3", `streamer demo: --speed must be one of "1","10","max" but got "3"`},
		{"replay file", "streamer replay: missing flags: --session=SESSION"},
		{"replay --session s --format opanai file", `must be one of "openai-chat",`},
		{"replay --session s --follow -", "streamer replay: --follow: need a FILE"},
		{"replay --session s none.jsonl", "streamer replay: open none.jsonl: no such file"},
		{"replay --session s --speed 2 -", `streamer replay: --speed must be one of "1","10","max" but got "2"`},
		{"assemble --format opanai file", `one of "openai-chat",`},
		{"assemble a b", "streamer assemble: unexpected argument b"},
		{"interrupt", `streamer interrupt: expected "<session>"`},
		{"interrupt " + strings.Repeat("x", 300), "streamer interrupt: <session>: session token of 300 bytes is longer than 256"},
		{"verify s " + strings.Repeat("x", 300), "streamer verify: [<session> ...]: session token of 300 bytes is longer than 256"},
		{"bench --call 2", "streamer bench path: invalid --call 2: need at least 3"},
		{"bench --inputs 1000", "streamer bench path: invalid --inputs 1000: need at least 100 per session"},
		{"bench --rounds 0", "streamer bench path: invalid --rounds 0: need at least 1"},
		{"bench --sessions 99", "streamer bench path: invalid --sessions 99: need at least 100"},
		{"bench --duration 10ms", "streamer bench path: invalid --duration 10ms: need at least 1s"},
		{"recover now", "streamer recover: unexpected argument now"},
		{"completion ksh", `must be one of "bash","zsh","fish" but got "ksh"`},
	} {
		t.Run(c.args, func(t *testing.T) {
			var out, errs strings.Builder
			got := run(t.Context(), stdio{strings.NewReader(""), &out, &errs}, strings.Fields(c.args))
			first, rest, _ := strings.Cut(errs.String(), "\n")
			if got != exitUsage || !strings.Contains(first, c.want) || out.Len() > 0 {
				t.Errorf("%q: status %d, first line %q, standard output %q, want status 2 and %q", c.args, got, first, out.String(), c.want)
			}
			if c.args != "" && strings.Count(rest, "\n") > 1 {
				t.Errorf("%q: %s", c.args, rest)
			}
		})
	}
}

// TestTwoServers: a data directory on the command line is not overridden by a variable.
func TestTwoServers(t *testing.T) {
	t.Setenv("STREAMER_NATS_URL", "nats://other")
	var errs strings.Builder
	got := run(t.Context(), stdio{strings.NewReader(""), io.Discard, &errs}, []string{"sessions", "--data-dir", "here"})
	if want := "--data-dir names the embedded server, and STREAMER_NATS_URL another"; got != exitUsage || !strings.Contains(errs.String(), want) {
		t.Errorf("status %d, %s, want %d and %q", got, &errs, exitUsage, want)
	}
}

// TestHelp: help that was asked for is printed to standard output, with exit
// status 0.
func TestHelp(t *testing.T) {
	p, err := newParser(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{"help", "--help", "-h", "serve -h", "help serve"}
	for _, name := range p.Complete([]string{""}) {
		asked = append(asked, name+" --help")
	}
	if len(asked) < 15 {
		t.Errorf("got the commands %v", asked)
	}
	for _, args := range asked {
		t.Run(args, func(t *testing.T) {
			var out, errs strings.Builder
			if got := run(t.Context(), stdio{strings.NewReader(""), &out, &errs}, strings.Fields(args)); got != 0 || errs.Len() > 0 {
				t.Errorf("%q: status %d, standard error %q", args, got, errs.String())
			}
			name := strings.TrimSuffix(strings.TrimPrefix(args, "help "), " --help")
			if want := "Usage: streamer " + strings.TrimSuffix(name, " -h"); !strings.Contains(args, " ") {
				return
			} else if !strings.HasPrefix(out.String(), want) {
				t.Errorf("%q: got %.60q, want it to begin with %q", args, out.String(), want)
			}
		})
	}
}

// linesPerCommand bounds the Go code of this package without tests: the commands read
// flags and print, and the work is done in the packages below.
const linesPerCommand = 42

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
	if most := linesPerCommand * reflect.TypeFor[grammar]().NumField(); lines > most {
		t.Errorf("got %d lines, want at most %d", lines, most)
	}
}
