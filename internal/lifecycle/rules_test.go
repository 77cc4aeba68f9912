package lifecycle

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestRulesCheck checks that the error names each wrong field by its JSON name, in
// the same order every time.
func TestRulesCheck(t *testing.T) {
	good := DefaultRules()
	if err := good.Check(); err != nil {
		t.Fatalf("the default rules: %v", err)
	}
	for _, c := range []struct {
		field  string
		change func(*Rules)
	}{
		{"args_timeout is 0", func(r *Rules) { r.ArgsTimeout = 0 }},
		{"expire is -1", func(r *Rules) { r.Expire = -1 }},
		{"result_timeout is 9223372036854775807", func(r *Rules) { r.ResultTimeout = math.MaxInt64 }},
		{"wait_timeout is -1", func(r *Rules) { r.WaitTimeout = -1 }},
		{"deltas is \"some\"", func(r *Rules) { r.Deltas = "some" }},
		{"texts is \"\"", func(r *Rules) { r.Texts = "" }},
		{"lang is \"de\"", func(r *Rules) { r.Lang = "de" }},
		{"max_event_text is 63", func(r *Rules) { r.MaxEventText = 63 }},
		{"max_open is 0", func(r *Rules) { r.MaxOpen = 0 }},
		{"tool pattern \"[\"", func(r *Rules) { r.Tools = []ToolRule{{Pattern: "["}} }},
		{"args_timeout of tool x is -5", func(r *Rules) { r.Tools = []ToolRule{{Pattern: "x", ArgsTimeout: -5}} }},
		{"template of tool x may grow", func(r *Rules) { r.Tools = []ToolRule{{Pattern: "x", Template: strings.Repeat("{id}", 100)}} }},
		{"template cancelled may grow", func(r *Rules) {
			r.Templates = map[events.Text]string{events.TextCancelled: strings.Repeat("x", 40_000)}
		}},
	} {
		t.Run(c.field, func(t *testing.T) {
			r := DefaultRules()
			c.change(&r)
			err := r.Check()
			if err == nil || !strings.Contains(err.Error(), c.field) || strings.Count(err.Error(), "lifecycle:") != 1 {
				t.Errorf("%s: error %v", c.field, err)
			}
		})
	}
	bad := Rules{Deltas: "x", Texts: "y", Templates: map[events.Text]string{"a": "{id}", "b": "{id}", "c": "{id}"}}
	want := bad.Check().Error()
	for range 20 {
		if got := bad.Check().Error(); got != want {
			t.Fatalf("the order differs:\n%s\n%s", got, want)
		}
	}
}

// TestRulesJSON checks that rules that are written and read again are the same.
func TestRulesJSON(t *testing.T) {
	want := DefaultRules()
	want.Tools = []ToolRule{{Pattern: "a*", ArgsTimeout: 1, ResultTimeout: 2, Template: "x"}}
	want.Templates = map[events.Text]string{events.TextArgs: "y"}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Rules
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestToolPatterns checks that a star matches any characters, a slash too.
func TestToolPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "server/tool", true},
		{"*", "a/b/c", true},
		{"server/*", "server/tool", true},
		{"server/*", "server/a/b", true},
		{"*/tool", "server/tool", true},
		{"*tool", "server/tool", true},
		{"server?tool", "server/tool", true},
		{"server/*", "server", false},
		{"server/*", "other/tool", false},
		{"slow_*", "fast/slow_x", false},
		{"[a-z]/x", "a/x", true},
		{"*", "", true},
	} {
		t.Run(c.pattern+" "+c.name, func(t *testing.T) {
			if got := (&ToolRule{Pattern: c.pattern}).matches(c.name); got != c.want {
				t.Errorf("pattern %q, tool %q: %v, want %v", c.pattern, c.name, got, c.want)
			}
		})
	}
}

// TestToolRules checks that the fields of the first pattern that matches apply.
func TestToolRules(t *testing.T) {
	r := DefaultRules()
	r.Tools = []ToolRule{{Pattern: "slow_*", ResultTimeout: 99}, {Pattern: "*", Template: "no {name}"}}
	if got, want := r.tool("slow_search"), (ToolRule{ArgsTimeout: r.ArgsTimeout, ResultTimeout: 99}); got != want {
		t.Errorf("slow_search: %+v, want %+v", got, want)
	}
	if got, want := r.sentence(events.TextTimeout, "f", "c"), "no f"; got != want {
		t.Errorf("f: %q, want %q", got, want)
	}
	if got := r.sentence(events.TextTimeout, "slow_search", "c"); !strings.Contains(got, "slow_search with id c timed out") {
		t.Errorf("slow_search: %q", got)
	}
}
