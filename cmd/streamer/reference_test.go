package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"streamer/test/testkit"
)

const referenceIntro = `# Command line

This file is generated from the grammar of the commands: ` + "`go test ./cmd/streamer -run TestReference -update`" + ` writes it.

## Values of flags

A flag has its value from the first of these that has one: the command line, its variable, the file of ` + "`--config FILE`" + ` (or of ` + "`STREAMER_CONFIG`" + `), its default. ` + "`streamer config`" + ` prints the values in force, and where each comes from.

- **Variables.** The tables below list them. An empty variable is an empty value. Commas separate the values of a flag that may be repeated.
- **The file** is YAML, or JSON. Its keys are the names of flags: at the top those of [shared flags](#shared-flags), in a section with the name of a command the flags of this command, which then take precedence. Unknown keys are refused.

` + "```yaml" + `
nats-url: nats://nats-1:4222,nats://nats-2:4222
nats-creds: /etc/streamer/streamer.creds
http-listen: 127.0.0.1:8080
result-timeout: 5m
tool-timeout: [slow_*=30m]
replay:
  wait: 30s
` + "```" + `

## Exit status

| status | condition |
|---|---|
| 0 | success |
| 1 | the command failed, or it found what it looks for: ` + "`verify` a fault, `recover` a loss that it was not asked to close, `repair --check`" + ` a history that needs a repair |
| 2 | the arguments, a variable or the configuration file cannot be parsed, or a file that they name does not exist; also a history that ` + "`repair`" + ` could not repair |
| 3 | a part of the input was unusable (` + "`assemble`, `replay`" + `), or named a call that is not open (` + "`interrupt`" + `) |

## Completion

    source <(streamer completion bash)                  # in ~/.bashrc
    source <(streamer completion zsh)                   # in ~/.zshrc, after compinit
    streamer completion fish > ~/.config/fish/completions/streamer.fish

`

// TestReference compares docs/cli.md with the grammar.
func TestReference(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "~/.local/share")
	p, err := newParser(os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	got.WriteString(referenceIntro)
	writeReference(&got, p.Model())
	compare(t, "../../docs/cli.md", got.Bytes())
}

// TestGoldenHelp compares the help of the program and of two commands.
func TestGoldenHelp(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	t.Setenv("XDG_DATA_HOME", "~/.local/share")
	for name, args := range map[string]string{"streamer": "--help", "serve": "serve --help", "replay": "help replay"} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if got := run(t.Context(), stdio{nil, &out, &errs}, strings.Fields(args)); got != 0 {
				t.Errorf("%s: status %d, %s", args, got, &errs)
			}
			compare(t, "testdata/help/"+name+".txt", out.Bytes())
		})
	}
}

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if *testkit.Update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the grammar: run `go test ./cmd/streamer -run '%s' -update`\ngot\n%s", file, t.Name(), got)
	}
}
