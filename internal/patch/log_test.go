package patch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// TestLog: what a session's event log knows of a call comes before any text.
// The log and the history may begin at different places, but end at the same.
func TestLog(t *testing.T) {
	const (
		call        = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`
		placeholder = `{"role":"tool","tool_call_id":"a","content":"aborted"}`
		real        = `{"role":"tool","tool_call_id":"a","content":"found"}`
		said        = `{"role":"user","content":"Go on."}`
		thought     = `{"role":"assistant","content":"Hm.","reasoning_details":[{"type":"reasoning.encrypted","data":"c2ln"}]}`
	)
	tool := func(text string) string { return `{"role":"tool","tool_call_id":"a","content":"` + text + `"}` }
	found := patch.Outcome{Name: "look", Content: json.RawMessage(`"found"`)}
	timedOut := patch.Outcome{Name: "look", Reason: events.TextTimeout}
	for _, c := range []struct {
		what     string
		in, want []string
		log      []patch.Outcome
		late     string
		ops      string
	}{
		{"the real result", []string{call, said}, []string{call, real, said}, []patch.Outcome{found}, "", "result_added log"},
		{"why there is none", []string{call, said}, []string{call, tool("Tool call look with id a timed out: no result was received. It may or may not have run."), said}, []patch.Outcome{timedOut}, "", "result_added timeout"},
		{"in the place of a placeholder", []string{call, placeholder, said}, []string{call, real, said}, []patch.Outcome{found}, "", "result_replaced log"},
		{"not if reasoning was bound to that", []string{call, placeholder, thought, said}, []string{call, placeholder, thought, said}, []patch.Outcome{found}, "", ""},
		{"not if nothing in front of the last turn is to change", []string{call, placeholder, call, real}, []string{call, placeholder, call, real}, []patch.Outcome{found, found}, "note", ""},
		{"a placeholder that nobody knows better stays", []string{call, placeholder, said}, []string{call, placeholder, said}, []patch.Outcome{timedOut}, "", ""},
		{"a real result is not touched", []string{call, tool("mine"), said}, []string{call, tool("mine"), said}, []patch.Outcome{found}, "", ""},
		{"the last use of the id is the log's last", []string{call, tool("mine"), call, said}, []string{call, tool("mine"), call, real, said}, []patch.Outcome{timedOut, timedOut, found}, "", "result_added log"},
		{"the log begins later", []string{call, call, said}, []string{call, tool("Tool call look with id a was interrupted: no result was recorded. It may or may not have run."), call, real, said}, []patch.Outcome{found}, "", "result_added interrupted, result_added log"},
		{"another tool", []string{call, said}, []string{call, tool("Tool call look with id a was interrupted: no result was recorded. It may or may not have run."), said}, []patch.Outcome{{Name: "list", Content: json.RawMessage(`"found"`)}}, "", "result_added interrupted"},
	} {
		t.Run(c.what, func(t *testing.T) {
			in := "[" + strings.Join(c.in, ",") + "]"
			r := repair(t, patch.OpenAI, []byte(in), patch.Options{Late: c.late, Log: map[string][]patch.Outcome{"a": c.log}})
			if want := "[" + strings.Join(c.want, ",") + "]"; !sameJSON(t, r.History, []byte(want)) {
				t.Errorf("input %s\n  got %s\n want %s", in, r.History, want)
			}
			var ops []string
			for _, op := range r.Report.Ops {
				ops = append(ops, op.Op+" "+op.Reason)
			}
			if got := strings.Join(ops, ", "); got != c.ops {
				t.Errorf("input %s\nops\n got %s\nwant %s", in, got, c.ops)
			}
		})
	}
}
