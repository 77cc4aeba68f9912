package main

import (
	"strings"
	"testing"
)

// What is wrong with a command's arguments is said in the first line, with
// exit status 2 and without a page of flags.
func TestMisuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "streamer follows the tool calls in LLM streams."},
		{"dmo", `streamer: there is no command "dmo"`},
		{"serve --prot 1", "streamer serve: flag provided but not defined: -prot"},
		{"serve --partitions x", `streamer serve: invalid value "x" for flag -partitions`},
		{"serve --lang fr", `invalid value "fr" for flag -lang: there are en, zh`},
		{"serve --log-level loud", "there are debug, info, warn, error"},
		{"serve --args-timeout 5", "-args-timeout: parse error: a duration has units, such as "},
		{"serve --args-timeout -5s", "--args-timeout is below 0"},
		{"serve --repair-bytes -1", "--repair-bytes is below 0"},
		{"help dmo", `streamer: there is no command "dmo"`},
		{"serve --tool-timeout slow", "such as slow_*=30m"},
		{"serve here", `streamer serve: there is no argument "here"`},
		{"demo --speed 3", `streamer demo: --speed "3" is not 1, 10 or max`},
		{"replay file", "streamer replay: --session is needed"},
		{"replay --session s --format opanai file", "the formats are openai-chat, "},
		{"assemble --format opanai file", "the formats are openai-chat, "},
		{"assemble a b", "streamer assemble: one FILE at the most, not 2"},
		{"interrupt", "streamer interrupt: one SESSION is needed, not 0"},
		{"interrupt " + strings.Repeat("x", 300), "streamer interrupt: session: session token of 300 bytes is longer than 256"},
		{"verify s " + strings.Repeat("x", 300), "streamer verify: session: session token of 300 bytes is longer than 256"},
		{"bench --call 2", "--call 2: a call takes at least 3 inputs"},
		{"bench --inputs 1000", "--sessions must be at least 100, and --inputs at least 100 for each of them"},
		{"bench --rounds 0", "--rounds, --instances and --open at least 1"},
		{"recover now", `streamer recover: there is no argument "now"`},
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

// Help is what was asked for: it stands on standard output, and is no failure.
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
