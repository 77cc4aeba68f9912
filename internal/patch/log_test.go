package patch_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// TestLog checks that the outcomes of a session's event log take precedence over
// texts. Uses of one id with equal args are matched in order, if history and log have as
// many.
func TestLog(t *testing.T) {
	const (
		call        = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{}"}}]}`
		placeholder = `{"role":"tool","tool_call_id":"a","content":"aborted"}`
		real        = `{"role":"tool","tool_call_id":"a","content":"found"}`
		user        = `{"role":"user","content":"Go on."}`
		interrupted = "Tool call look with id a was interrupted: no result was recorded. It may or may not have run."
		thought     = `{"role":"assistant","content":"Hm.","reasoning_details":[{"type":"reasoning.encrypted","data":"c2ln"}]}`
	)
	tool := func(text string) string { return `{"role":"tool","tool_call_id":"a","content":"` + text + `"}` }
	found := patch.Outcome{Name: "look", Content: json.RawMessage(`"found"`)}
	timedOut := patch.Outcome{Name: "look", Reason: events.TextTimeout}
	for _, c := range []struct {
		name     string
		in, want []string
		log      []patch.Outcome
		late     string
		ops      string
	}{
		{"the real result", []string{call, user}, []string{call, real, user}, []patch.Outcome{found}, "", "result_added log"},
		{"the reason why there is none", []string{call, user}, []string{call, tool("Tool call look with id a timed out: no result was received. It may or may not have run."), user}, []patch.Outcome{timedOut}, "", "result_added timeout"},
		{"replaces a placeholder", []string{call, placeholder, user}, []string{call, real, user}, []patch.Outcome{found}, "", "result_replaced log"},
		{"not before signed reasoning", []string{call, placeholder, thought, user}, []string{call, placeholder, thought, user}, []patch.Outcome{found}, "", ""},
		{"not before the last turn with late: note", []string{call, placeholder, call, real}, []string{call, placeholder, call, real}, []patch.Outcome{found, found}, "note", ""},
		{"a placeholder stays without a real result", []string{call, placeholder, user}, []string{call, placeholder, user}, []patch.Outcome{timedOut}, "", ""},
		{"a real result stays", []string{call, tool("mine"), user}, []string{call, tool("mine"), user}, []patch.Outcome{found}, "", ""},
		{"the second use of the id is the log's second", []string{call, tool("mine"), call, user}, []string{call, tool("mine"), call, real, user}, []patch.Outcome{timedOut, found}, "", "result_added log"},
		{"the log has more uses", []string{call, tool("mine"), call, user}, []string{call, tool("mine"), call, tool(interrupted), user}, []patch.Outcome{timedOut, timedOut, found}, "", "result_added interrupted"},
		{"the log has fewer uses", []string{call, call, user}, []string{call, tool(interrupted), call, tool(interrupted), user}, []patch.Outcome{found}, "", "result_added interrupted, result_added interrupted"},
		{"only one use is in the history: that with the uid", []string{call, user}, []string{call, real, user}, []patch.Outcome{found, timedOut}, "", "result_added log"},
		{"an outcome of another tool", []string{call, user}, []string{call, tool(interrupted), user}, []patch.Outcome{{Name: "list", Content: json.RawMessage(`"found"`)}}, "", "result_added interrupted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := "[" + strings.Join(c.in, ",") + "]"
			for i := range c.log {
				o := &c.log[i]
				if o.ID, o.UID = "a", "a"; i > 0 {
					o.UID = fmt.Sprintf("a~%d.0", i)
				}
				o.SetArgs([]byte("{}"))
			}
			r := repair(t, patch.OpenAI, []byte(in), patch.Options{Late: c.late, Log: c.log})
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
