package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

// rulesOf gives the settings that args and the text of a file make. FILE in
// args stands for the file.
func rulesOf(t *testing.T, args, file string) (*lifecycle.Rules, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var std strings.Builder
	io := stdio{strings.NewReader(""), &std, &std}
	fs := flags("serve")
	var s serveFlags
	s.register(fs)
	if _, err := parse(io, fs, strings.Fields(strings.ReplaceAll(args, "FILE", path))); err != nil {
		t.Fatal(err)
	}
	return s.foldRules(12*time.Hour, 24*time.Hour)
}

// Without flags the settings are the defaults, or every start would say them
// anew.
func TestDefaultRules(t *testing.T) {
	got, err := rulesOf(t, "", "")
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.NewRules()
	if g, w := marshalled(t, got), marshalled(t, &want); g != w {
		t.Errorf("got %s, want %s", g, w)
	}
}

func marshalled(t *testing.T, r *lifecycle.Rules) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A file stands over the defaults, a flag that is given over the file, and the
// patterns of both hold, the flag's first.
func TestRulesFile(t *testing.T) {
	const file = `{"args_timeout": 5000, "lang": "zh", "max_args": 1000, "expire": 3600000,
		"templates": {"cancelled": "{name} is off"},
		"tools": [{"pattern": "slow_*", "args_timeout": 1000, "result_timeout": 2000, "template": "{name} slept"}]}`
	got, err := rulesOf(t, "--rules FILE --lang en --run-idle 5m --tool-timeout fast=1s", file)
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.NewRules()
	want.ArgsTimeout, want.RunIdle, want.MaxArgs, want.Expire = 5000, 300_000, 1000, 3_600_000
	want.Templates = map[events.Text]string{events.TextCancelled: "{name} is off"}
	want.Tools = []lifecycle.ToolRule{
		{Pattern: "fast", ResultTimeout: 1000},
		{Pattern: "slow_*", ArgsTimeout: 1000, ResultTimeout: 2000, Template: "{name} slept"},
	}
	if g, w := marshalled(t, got), marshalled(t, &want); g != w {
		t.Errorf("got %s, want %s", g, w)
	}
}

// What is wrong with settings is said by name.
func TestBadRules(t *testing.T) {
	for _, c := range []struct{ args, file, want string }{
		{"--rules FILE", `{"args_timeuot": 5000}`, `rules.json: json: unknown field "args_timeuot"`},
		{"--rules FILE", `{"tools": [{"patern": "x"}]}`, `unknown field "patern"`},
		{"--rules FILE", `{"lang": "en"} {}`, "there is more behind the object that ends at byte"},
		{"--rules FILE", `{"lang": "en"`, "the JSON object is not complete, it ends at byte 13"},
		{"--rules FILE", `{"args_timeout": "5s"}`, "args_timeout at byte 21 cannot be string: durations are in milliseconds"},
		{"--rules FILE", `[]`, "a JSON object is wanted, not array"},
		{"--rules FILE", `{"lang": en}`, "not JSON at byte 10"},
		{"--rules FILE", `{"version": 2}`, "version is the program's own"},
		{"--rules FILE", `{"templates": {"canceled": "x"}}`, `no text "canceled"`},
		{"--rules FILE", `{"max_args": 0}`, "max_args is 0, it must be positive"},
		{"--rules FILE", `{"expire": 86400000}`, "expire is 24h0m0s: events are kept for 24h0m0s, so that it must be 23h0m0s at the most"},
		{"--rules FILE", `{"forget": 90000000}`, "forget is 25h0m0s, longer than events are kept"},
		{"--rules FILE", `{"tools": [{"pattern": "x", "args_timeout": 50000000}]}`, "args timeout of tools x is 13h53m20s, longer than inputs are kept"},
		{"--rules FILE", `{"tools": [{"pattern": "[x"}]}`, `tool pattern "[x"`},
		{"--rules nowhere.json", "", "nowhere.json: no such file"},
		{"--result-timeout 13h", "", "the result timeout is 13h0m0s, longer than inputs are kept (12h0m0s)"},
		{"--tool-timeout x=13h", "", "tools x is 13h0m0s"},
	} {
		_, err := rulesOf(t, c.args, c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.args, c.file, err, c.want)
		}
	}
}
