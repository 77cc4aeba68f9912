package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"streamer/internal/lifecycle"
	"streamer/internal/server"
)

// configured returns the configuration that flags give. FILE in args is replaced
// with the name of a file with that text.
func configured(t *testing.T, args, file string) server.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := newParser(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Parse(append([]string{"serve"}, strings.Fields(strings.ReplaceAll(args, "FILE", path))...))
	if err != nil {
		t.Fatal(err)
	}
	c, ok := reflect.TypeAssert[*serveCommand](i.Selected().Target.Addr())
	if !ok {
		t.Fatal("no serve command")
	}
	return c.Config(i.Given)
}

// TestDefaultFlags: without flags the configuration is the default of app.
func TestDefaultFlags(t *testing.T) {
	got, want := configured(t, "", ""), server.NewConfig()
	got.Rules.Override = nil // functions cannot be compared
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestNoGrace: without outage grace the worker must not use its default.
func TestNoGrace(t *testing.T) {
	if got := configured(t, "--outage-grace 0", "").Worker.Grace; got >= 0 {
		t.Errorf("got %s, want less than 0", got)
	}
}

// TestRuleFlags: flags that are given win over the file, which wins over the
// defaults. The tools of both count, those of the flags first.
func TestRuleFlags(t *testing.T) {
	const file = `{"args_timeout": 5000, "result_timeout": 5000, "run_idle": 5000, "lang": "zh", "deltas": "off", "texts": "off",
		"tools": [{"pattern": "slow_*", "result_timeout": 2000}]}`
	c := configured(t, "--rules FILE --lang en --run-idle 5m --deltas every --tool-timeout fast=1s", file)
	got, err := c.Rules.Fold(12*time.Hour, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.DefaultRules()
	want.ArgsTimeout, want.ResultTimeout, want.RunIdle = 5000, 5000, 300_000
	want.Deltas, want.Texts = lifecycle.Every, lifecycle.Off
	want.Tools = []lifecycle.ToolRule{{Pattern: "fast", ResultTimeout: 1000}, {Pattern: "slow_*", ResultTimeout: 2000}}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

// TestRuleFlagsAlone: without a file the flags are the settings.
func TestRuleFlagsAlone(t *testing.T) {
	c := configured(t, "--args-timeout 1s --result-timeout 2s --wait-timeout 3s --run-idle 4s --lang zh --deltas off --texts every --tool-timeout x=5s", "")
	got, err := c.Rules.Fold(12*time.Hour, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := lifecycle.DefaultRules()
	want.ArgsTimeout, want.ResultTimeout, want.WaitTimeout, want.RunIdle = 1000, 2000, 3000, 4000
	want.Lang, want.Deltas, want.Texts = "zh", lifecycle.Off, lifecycle.Every
	want.Tools = []lifecycle.ToolRule{{Pattern: "x", ResultTimeout: 5000}}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

// TestTapInFile: tap is a flag, and a command with flags of its own.
func TestTapInFile(t *testing.T) {
	if got := configured(t, "--config FILE", "tap: [openai]\n").Tap.Tap; len(got) != 1 {
		t.Errorf("a list: got %v", got)
	}
	if got := configured(t, "--config FILE", "tap: {tap: [openai, gemini]}\n").Tap.Tap; len(got) != 0 {
		t.Errorf("a section: got %v", got)
	}
}
