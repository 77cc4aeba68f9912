package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// TestRulesWithUnknownFields checks that rules with an unknown field are refused: an
// acknowledgement would otherwise be rules with every default. A newer version is
// recognised whatever fields it has.
func TestRulesWithUnknownFields(t *testing.T) {
	for body, words := range map[string]string{
		`{"stream":"LLM","seq":5}`:                         `unknown field "stream"`,
		`{"version":1000000,"a_field_of_the_future":true}`: "a newer fold version is in force",
		`[]`: "cannot unmarshal",
		``:   "unexpected end",
	} {
		t.Run(body, func(t *testing.T) {
			_, err := ParseRules([]byte(body))
			if err == nil || !strings.Contains(err.Error(), words) || errors.Is(err, ErrVersion) != strings.Contains(body, "version") {
				t.Errorf("%s: got %v, want %q", body, err, words)
			}
		})
	}
	d := lifecycle.DefaultRules()
	data, err := json.Marshal(&d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseRules(data); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

// TestRulesLog checks which rules are in force for an input, and that rules which
// are refused change nothing.
func TestRulesLog(t *testing.T) {
	raw := func(idle int) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"run_idle":%d}`, idle)) }
	var l RulesLog
	if err := l.Begin(raw(1000)); err != nil {
		t.Fatal(err)
	}
	if err := l.Begin(json.RawMessage(`{"seq":5}`)); err == nil {
		t.Error("rules with an unknown field begin a log")
	}
	for _, in := range []inputs.Input{{Seq: 10, Data: raw(2000)}, {Seq: 15, Data: []byte(`[]`)}, {Seq: 20, Data: raw(3000)}} {
		if err := l.Set(&in); (err != nil) != (in.Seq == 15) {
			t.Errorf("input %d: got %v", in.Seq, err)
		}
	}
	check := func(want map[uint64]int) {
		t.Helper()
		for seq, idle := range want {
			c := l.Before(seq)
			if string(c.Raw) != string(raw(idle)) || int(c.Rules.RunIdle) != idle {
				t.Errorf("input %d: got %s, want %d", seq, c.Raw, idle)
			}
		}
		if got := int(l.InForce().RunIdle); got != 3000 {
			t.Errorf("in force: got %d, want 3000", got)
		}
	}
	check(map[uint64]int{1: 1000, 10: 1000, 11: 2000, 20: 2000, 21: 3000})
	l.Forget(10)
	check(map[uint64]int{10: 1000, 11: 2000, 21: 3000})
	l.Forget(11)
	check(map[uint64]int{11: 2000, 20: 2000, 21: 3000})
	l.Repeated()
	if got := int(l.Before(1).Rules.RunIdle); got != 3000 {
		t.Errorf("repeated: got %d before the first input, want 3000", got)
	}
}
