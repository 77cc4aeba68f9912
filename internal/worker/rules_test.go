package worker

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/lifecycle"
)

// TestRulesWithUnknownFields checks that rules with an unknown field are refused: an
// acknowledgement would otherwise be rules with every default. A newer version is
// recognised whatever fields it has.
func TestRulesWithUnknownFields(t *testing.T) {
	for body, words := range map[string]string{
		`{"stream":"LLM","seq":5}`:                         `unknown field "stream"`,
		`{"version":1000000,"a_field_of_the_future":true}`: "newer fold version",
		`[]`: "cannot unmarshal",
		``:   "unexpected end",
	} {
		if _, err := parseRules([]byte(body)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: got %v, want %q", body, err, words)
		}
	}
	d := lifecycle.DefaultRules()
	data, err := json.Marshal(&d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseRules(data); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	var r rulesLog
	if err := r.begin(broker.Checkpoint{Seq: 1, Rules: json.RawMessage(`{"seq":5}`)}); !errors.Is(err, broker.ErrDamaged) {
		t.Errorf("a checkpoint with such rules: got %v, want ErrDamaged", err)
	}
}
