package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// commands is a small grammar: url, wait and host are shared, level belongs to run,
// wait-less belongs to look.
type commands struct {
	ConfigFile string `name:"config"`
	Run        struct {
		URL   string        `name:"url" group:"net" help:"address; if empty, the nearest; or several"`
		Wait  time.Duration `group:"net" default:"5s"`
		Host  []string      `group:"net" sep:"none"`
		Fast  bool          `group:"net" default:"true"`
		Level string        `enum:"low,high" default:"low"`
	} `cmd:""`
	Look struct {
		What  string `arg:"" optional:""`
		URL   string `name:"url" group:"net"`
		Count int
		File  string
	} `cmd:""`
}

// parsed parses a command line with variables, and the file as config.yaml.
func parsed(t *testing.T, line, variables, file string) (*commands, *Invocation, error) {
	t.Helper()
	var c commands
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	replaced := strings.NewReplacer("FILE", path)
	p, err := New(&c, Options{
		Name: "streamer", Out: io.Discard, Groups: []kong.Group{{Key: "net", Title: "Net:"}},
		Env: func(name string) (string, bool) {
			for v := range strings.FieldsSeq(replaced.Replace(variables)) {
				if n, value, _ := strings.Cut(v, "="); n == name {
					return value, true
				}
			}
			return "", false
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Parse(strings.Fields(replaced.Replace(line)))
	return &c, i, err
}

// TestPrecedence: the command line wins over the environment, which wins over the
// file, whose sections win over its top.
func TestPrecedence(t *testing.T) {
	for _, c := range []struct {
		name, line, variables, file string
		url, source                 string
	}{
		{"the default", "run", "", "", "", "default"},
		{"the file", "run --config FILE", "", "url: file", "file", "config.yaml:1"},
		{"the file in a variable", "run", "STREAMER_CONFIG=FILE", "wait: 1s\nurl: file", "file", "config.yaml:2"},
		{"a file in JSON", "run --config FILE", "", `{"url": "file"}`, "file", "config.yaml:1"},
		{"a section", "run --config FILE", "", "url: top\nrun:\n  url: section", "section", "config.yaml:3"},
		{"the section of another command", "run --config FILE", "", "url: top\nlook:\n  url: section", "top", "config.yaml:1"},
		{"a variable", "run --config FILE", "STREAMER_URL=variable", "url: file", "variable", "STREAMER_URL"},
		{"an empty variable", "run --config FILE", "STREAMER_URL=", "url: file", "", "STREAMER_URL"},
		{"the command line", "run --url line --config FILE", "STREAMER_URL=variable", "url: file", "line", "command line"},
		{"the command line without text", "run --url= --config FILE", "STREAMER_URL=variable", "", "", "command line"},
		{"an empty file", "run --config FILE", "", "# nothing\n", "", "default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, i, err := parsed(t, c.line, c.variables, c.file)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			if got.Run.URL != c.url || !strings.HasSuffix(i.source("url"), c.source) {
				t.Errorf("%s: got %q from %s, want %q from %s", c.name, got.Run.URL, i.source("url"), c.url, c.source)
			}
			if given := c.source != "default"; i.Given("url") != given {
				t.Errorf("%s: given is %t, want %t", c.name, !given, given)
			}
		})
	}
}

// TestTypes: variables and files have values of every type.
func TestTypes(t *testing.T) {
	for _, c := range []struct{ name, variables, file string }{
		{"variables", "STREAMER_WAIT=7s STREAMER_HOST=a,b STREAMER_FAST=false STREAMER_RUN_LEVEL=high", ""},
		{"a file", "", "wait: 7s\nhost: [a, b]\nfast: false\nrun: {level: high}"},
		{"an alias", "", "wait: &w 7s\nhost: [a, b]\nfast: no\nrun: {level: high, wait: *w}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := parsed(t, "run --config FILE", c.variables, c.file)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			if r := got.Run; r.Wait != 7*time.Second || !slices.Equal(r.Host, []string{"a", "b"}) || r.Fast || r.Level != "high" {
				t.Errorf("%s: got %+v", c.name, r)
			}
		})
	}
}

// TestErrors: an error states where the value stands.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ line, variables, file, want string }{
		{"run", "STREAMER_WAIT=soon", "", "(from STREAMER_WAIT)"},
		{"run", "STREAMER_RUN_LEVEL=x", "", `--level must be one of "low","high" but got "x" (from STREAMER_RUN_LEVEL)`},
		{"look", "STREAMER_LOOK_COUNT=-1", "", "invalid --count -1: need at least 0"},
		{"run --config FILE", "", "url: a\nwait: soon", "config.yaml:2)"},
		{"run --config FILE", "", "url: a\nwiat: 1s", `config.yaml:2: unknown key "wiat": did you mean wait?`},
		{"run --config FILE", "", "level: high", `config.yaml:1: unknown key "level"`},
		{"run --config FILE", "", "look:\n  level: high", `config.yaml:2: unknown key "level"`},
		{"run --config FILE", "", "url: a\nurl: b", "config.yaml:2: url stands here a second time"},
		{"run --config FILE", "", "- url", "config.yaml:1: need a mapping"},
		{"run --config FILE", "", "run: fast", "config.yaml:1: need a mapping"},
		{"run --config FILE", "", "url: {a: b}", "config.yaml:1: need text, a number, or a list"},
		{"run --config FILE", "", "url: 'a", "config.yaml: yaml: "},
		{"run --config FILE", "", "url: a\n---\nurl: b", "more than one document"},
		{"run --config FILE.none", "", "", "--config: open "},
		{"lok", "", "", `unexpected argument lok, did you mean "look"?`},
		{"run --wiat 1s", "", "", `unknown flag --wiat, did you mean "--wait"?`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.line+" "+c.variables+" "+c.file), func(t *testing.T) {
			_, _, err := parsed(t, c.line, c.variables, c.file)
			if _, ok := errors.AsType[*UsageError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s, %q: got %v, want %q", c.line, c.variables, c.file, err, c.want)
			}
		})
	}
}

// TestSettings: the output is a configuration file that gives the same settings,
// except for passwords.
func TestSettings(t *testing.T) {
	_, i, err := parsed(t, "run --host a --host b*", "STREAMER_WAIT=7s", "")
	if err != nil {
		t.Fatal(err)
	}
	var first, second strings.Builder
	if err := i.WriteSettings(&first); err != nil {
		t.Fatal(err)
	}
	_, i, err = parsed(t, "run --config FILE", "", first.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := i.WriteSettings(&second); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[*strings.Builder][]string{
		&first:  {"# Net\n", "# command line", "# STREAMER_WAIT\n", "# default: the nearest\n"},
		&second: {"wait: 7s ", "host: [a, b*]", "config.yaml:3"},
	} {
		for _, w := range want {
			if !strings.Contains(from.String(), w) {
				t.Errorf("got %s, want %q in it", from, w)
			}
		}
	}
}

// TestMask: no password of a URL is printed.
func TestMask(t *testing.T) {
	for in, want := range map[string]string{
		"nats://a:secret@h:1":                  "nats://a:***@h:1",
		"nats://a:secret@h:1,nats://b:x@h:2":   "nats://a:***@h:1,nats://b:***@h:2",
		"nats://secret@h:1":                    "nats://***@h:1",
		"nats://a:se%cret@h:1":                 "***@h:1",
		"nats://h:1":                           "nats://h:1",
		"127.0.0.1:8080":                       "127.0.0.1:8080",
		"slow_*=30m0s":                         "slow_*=30m0s",
		"/a,b":                                 "/a,b",
		"nats://a:b@c@h:1, nats://u:secret@h2": "nats://a:***@h:1,nats://u:***@h2",
	} {
		t.Run(in, func(t *testing.T) {
			if got := mask(in); got != want {
				t.Errorf("%s: got %s, want %s", in, got, want)
			}
		})
	}
}

// TestMaskPath: nothing behind the host of a webhook is printed.
func TestMaskPath(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"https://h.example":                 "https://h.example",
		"https://h.example/":                "https://h.example/",
		"https://h.example/services/secret": "https://h.example/***",
		"https://h.example:1?key=secret":    "https://h.example:1/***",
		"https://a:secret@h.example":        "https://h.example/***",
		"https://h.example/%secret":         "***",
		"secret":                            "***",
	} {
		t.Run(in, func(t *testing.T) {
			if got := maskPath(in); got != want {
				t.Errorf("%s: got %s, want %s", in, got, want)
			}
		})
	}
}

// TestComplete checks the words that complete a command line.
func TestComplete(t *testing.T) {
	p, err := New(&commands{}, Options{Name: "streamer", Out: io.Discard, Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"":                   "run look",
		"r":                  "run",
		"run --":             "--config --fast --help --host --level --url --wait",
		"run --l":            "--level",
		"run --level ":       "low high",
		"run --level=h":      "--level=high",
		"run --level l":      "low",
		"run --fast --lev":   "--level",
		"run --url --level":  "",
		"run --url x --leve": "--level",
		"look --file ":       "",
		"unknown ":           "run look",
	} {
		t.Run(line, func(t *testing.T) {
			if got := strings.Join(p.Complete(strings.Split(line, " ")), " "); got != want {
				t.Errorf("%q: got %q, want %q", line, got, want)
			}
		})
	}
}

// FuzzFile: no file makes the parser fail otherwise than with an error, and a file
// that is accepted has only known keys.
func FuzzFile(f *testing.F) {
	for _, s := range []string{"url: a", "run: {level: high}", "{\"host\": [\"a\"]}", "a: &x b\nc: *x", "&a [*a]", "url: !!binary x", "? [a]\n: b", "<<: {url: a}"} {
		f.Add(s)
	}
	p, err := New(&commands{}, Options{Name: "streamer", Out: io.Discard, Env: os.LookupEnv})
	if err != nil {
		f.Fatal(err)
	}
	run := childOf(p.kong.Model.Node, "run")
	f.Fuzz(func(_ *testing.T, text string) {
		c, err := parseFile("f", []byte(text), p.kong.Model.Node)
		if err != nil {
			return
		}
		for _, flag := range run.Flags {
			c.find(run, flag)
		}
	})
}
