package server

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
)

// fold returns the settings that c gives with a file of that text; "" for none.
func fold(t *testing.T, c Rules, file string) (*lifecycle.Rules, error) {
	t.Helper()
	if file != "" {
		c.File = filepath.Join(t.TempDir(), "rules.json")
		if err := os.WriteFile(c.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c.Fold(12*time.Hour, 24*time.Hour)
}

func marshalled(t *testing.T, r *lifecycle.Rules) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDefaultRules: the defaults of the server are the fold's. Otherwise each
// start would append a rules input.
func TestDefaultRules(t *testing.T) {
	got, err := fold(t, NewConfig().Rules, "")
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.DefaultRules()
	if g, w := marshalled(t, got), marshalled(t, &want); g != w {
		t.Errorf("got %s, want %s", g, w)
	}
}

// TestRulesFile: the file replaces the defaults, and Override wins over both.
func TestRulesFile(t *testing.T) {
	const file = `{"args_timeout": 5000, "lang": "zh", "max_args": 1000, "expire": 3600000,
		"templates": {"cancelled": "{name} is off"},
		"tools": [{"pattern": "slow_*", "args_timeout": 1000, "result_timeout": 2000, "template": "{name} slept"}]}`
	c := NewConfig().Rules
	c.Base.Tools = []lifecycle.ToolRule{{Pattern: "replaced", ResultTimeout: 1}}
	c.Base.RunIdle = 300_000
	c.Override = func(r *lifecycle.Rules) { r.Lang = "en" }
	got, err := fold(t, c, file)
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.DefaultRules()
	want.ArgsTimeout, want.RunIdle, want.MaxArgs, want.Expire = 5000, 300_000, 1000, 3_600_000
	want.Templates = map[events.Text]string{events.TextCancelled: "{name} is off"}
	want.Tools = []lifecycle.ToolRule{{Pattern: "slow_*", ArgsTimeout: 1000, ResultTimeout: 2000, Template: "{name} slept"}}
	if g, w := marshalled(t, got), marshalled(t, &want); g != w {
		t.Errorf("got %s, want %s", g, w)
	}
}

// TestBadRules: an error names the setting and what would be right.
func TestBadRules(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{`{"args_timeuot": 5000}`, `rules.json: json: unknown field "args_timeuot"`},
		{`{"tools": [{"patern": "x"}]}`, `unknown field "patern"`},
		{`{"lang": "en"} {}`, "more data after the JSON object, which ends at byte"},
		{`{"lang": "en"`, "incomplete JSON object, it ends at byte 13"},
		{`{"args_timeout": "5s"}`, "args_timeout at byte 21 cannot be string: durations are in milliseconds"},
		{`[]`, "need a JSON object, not array"},
		{`{"lang": en}`, "not JSON at byte 9"},
		{`{"version": 2}`, "version is set by the program"},
		{`{"templates": {"canceled": "x"}}`, `invalid template "canceled": need one of ["new_message"`},
		{`{"max_args": 0}`, "max_args is 0, it must be positive"},
		{`{"expire": 86400000}`, "invalid expire 24h0m0s: need at most 23h0m0s, because events are kept for 24h0m0s"},
		{`{"forget": 90000000}`, "invalid forget 25h0m0s: need at most 24h0m0s"},
		{`{"tools": [{"pattern": "x", "args_timeout": 50000000}]}`, "invalid args timeout of tools x 13h53m20s: need at most 12h0m0s"},
		{`{"tools": [{"pattern": "[x"}]}`, `tool pattern "[x"`},
	} {
		t.Run(c.file, func(t *testing.T) {
			if _, err := fold(t, NewConfig().Rules, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", c.file, err, c.want)
			}
		})
	}
	missing := NewConfig().Rules
	missing.File = "nowhere.json"
	late := NewConfig().Rules
	late.Base.ResultTimeout = lifecycle.Of(13 * time.Hour)
	for want, c := range map[string]Rules{
		"nowhere.json: no such file":                                         missing,
		"invalid result timeout 13h0m0s: need at most 12h0m0s, which is how": late,
	} {
		if _, err := fold(t, c, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestRulesBeforeStreams: a file of settings that cannot be read is refused before
// anything is created.
func TestRulesBeforeStreams(t *testing.T) {
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", ""
	c.Rules.File = "nowhere.json"
	s, err := Open(t.Context(), c, zerolog.Nop())
	if err == nil {
		s.Close()
		t.Fatal("a server without its settings was opened")
	}
	if _, err := os.Stat(c.Broker.DataDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the data directory was created: %v", err)
	}
}
