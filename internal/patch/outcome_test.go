package patch_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// outcomes reads events, one per line. Their positions are the line numbers.
func outcomes(t *testing.T, lines ...string) *patch.Outcomes {
	t.Helper()
	var o patch.Outcomes
	for i, line := range lines {
		var e events.Event
		if err := json.Unmarshal([]byte(`{"event_id":"1.0","session":"s",`+line[1:]), &e); err != nil {
			t.Fatalf("event %d: %v", i+1, err)
		}
		o.Add(uint64(i+1), &e)
	}
	return &o
}

// formatLog returns a log as one line.
func formatLog(log []patch.Outcome) string {
	var list []string
	for _, o := range log {
		s := cmp.Or(o.UID, o.ID) + "=" + o.Name + ":" + string(o.Reason) + string(o.Content)
		if o.IsError {
			s += "!"
		}
		if o.At != 0 {
			s += fmt.Sprintf("@%d", o.At)
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

// call returns an event about the call 1.0 of the tool f with the id x.
func call(typ events.Type, rest string) string {
	return fmt.Sprintf(`{"type":%q,"call":"1.0","id":"x","uid":"x","tool_name":"f"%s}`, typ, rest)
}

// closed returns the synthetic result of that call.
func closed(code events.Code, text string) string {
	return call(events.ToolCallResult, fmt.Sprintf(`,"status":"cancelled","synthetic":true,"reason":{"code":%q,"text":%q},"tool_result":%q`, code, text, text))
}

// TestOutcomes checks the outcomes that each sequence of events leads to.
func TestOutcomes(t *testing.T) {
	start, whole := call(events.ToolCallStart, ""), call(events.ToolCallArgsComplete, `,"args_valid":true`)
	malformed := call(events.ToolCallArgsComplete, `,"args_valid":false`)
	cancelled := closed(events.ByInterrupt, "Tool call f with id x was cancelled before it was completed. It may have run in part.")
	late := call(events.ToolCallLateResult, `,"status":"completed","tool_result":"late"`)
	real := call(events.ToolCallResult, `,"status":"completed","tool_result":"42"`)
	orphan := `{"type":"orphan_result","id":"y","status":"completed","tool_result":"lost"}`
	for _, c := range []struct {
		name, want string
		log        []string
	}{
		{"no event", ``, nil},
		{"no call", ``, []string{`{"type":"run_started"}`}},
		{"still open", `x=f:`, []string{start, whole}},
		{"a result", `x=f:"42"`, []string{start, whole, real}},
		{"only the result is in the log", `x=f:"42"`, []string{real}},
		{"an error", `x=f:"no"!`, []string{call(events.ToolCallResult, `,"status":"error","tool_result":"no"`)}},
		{"a rejection", `x=f:"Not on Sundays."!`, []string{call(events.ToolCallResult, `,"status":"denied","tool_result":"Not on Sundays."`)}},
		{"a rejection without a text", `x=f:denied!`, []string{call(events.ToolCallResult, `,"status":"denied","tool_result":""`)}},
		{"an empty result", `x=f:""`, []string{call(events.ToolCallResult, `,"status":"completed","tool_result":""`)}},
		{"an object", `x=f:{"n": 1}`, []string{call(events.ToolCallResult, `,"status":"completed","tool_result":{"n": 1}`)}},
		{"blocks of text", `x=f:"a\nb \ud83d"`, []string{call(events.ToolCallResult, `,"tool_result":[{"type":"text","text":"a"},{"text":"b \ud83d","type":"text"}]`)}},
		{"other blocks", `x=f:[{"type":"text","text":"a"},{"type":"image","source":{}}]`, []string{call(events.ToolCallResult, `,"tool_result":[{"type":"text","text":"a"},{"type":"image","source":{}}]`)}},
		{"an empty list", `x=f:[]`, []string{call(events.ToolCallResult, `,"tool_result":[]`)}},
		{"a long result", `x=f:@2`, []string{start, call(events.ToolCallResult, `,"tool_result":"`+strings.Repeat("a", 2000)+`"`)}},
		{"a result stored as a blob", `x=f:@2`, []string{start, call(events.ToolCallResult, `,"tool_result_ref":{"size":70000,"sha256":"","preview":"","chunks":[]}`)}},

		{"an interrupt", `x=f:cancelled`, []string{start, whole, cancelled}},
		{"a late result", `x=f:"late"`, []string{start, whole, cancelled, late}},
		{"a second late result", `x=f:"other"`, []string{cancelled, late, call(events.ToolCallLateResult, `,"tool_result":"other","conflict":true`)}},
		{"a conflicting result after the first", `x=f:"other"`, []string{real, call(events.ToolCallLateResult, `,"tool_result":"other","conflict":true`)}},
		{"a conflicting result, whose first waited for the args", `x=f:"other"`, []string{start, call(events.ToolCallLateResult, `,"tool_result":"other","conflict":true`), real}},

		{"a time-out", `x=f:timeout`, []string{closed(events.ByResultTimeout, "Tool call f with id x timed out: no result was received. It may or may not have run.")}},
		{"the text decides, not the code", `x=f:args`, []string{closed(events.ByArgsTimeout, "Tool call f with id x was not run: its arguments were incomplete or malformed.")}},
		{"complete args without an event", `x=f:timeout`, []string{closed(events.ByArgsTimeout, "Tool call f with id x timed out: no result was received. It may or may not have run.")}},
		{"in Chinese", `x=f:new_message`, []string{closed(events.ByNewMessage, "工具调用 f（ID 为 x）已被取消 - 在其完成之前收到了另一条消息。")}},
		{"a configured text", `x=f:cancelled`, []string{start, whole, closed(events.ByInterrupt, "Stop!")}},
		{"a configured text, malformed args", `x=f:args`, []string{start, malformed, closed(events.ByInterrupt, "Stop!")}},
		{"a configured text, args without an event", `x=f:cancelled`, []string{start, closed(events.ByInterrupt, "Stop!")}},
		{"lost", `x=f:interrupted`, []string{closed(events.ByLost, "Tool call f with id x was interrupted: no result was recorded. It may or may not have run.")}},

		{"an orphan", `y=:"lost"`, []string{orphan}},
		{"an orphan whose call came", `y=f: y=:"lost"`, []string{orphan, `{"type":"tool_call_start","call":"2.0","id":"y","uid":"y","tool_name":"f"}`}},
		{"an id used again", `x=f:"42" x~9.0=g:cancelled`, []string{
			start, real, `{"type":"tool_call_start","call":"9.0","id":"x","uid":"x~9.0","tool_name":"g"}`,
			strings.NewReplacer(`"1.0"`, `"9.0"`, `"uid":"x"`, `"uid":"x~9.0"`, `"tool_name":"f"`, `"tool_name":"g"`, "call f", "call g").Replace(cancelled),
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := formatLog(outcomes(t, c.log...).Log())
			if got != c.want {
				t.Errorf("%s:\n log  %s\n got  %s\n want %s", c.name, strings.Join(c.log, "\n      "), got, c.want)
			}
		})
	}
}

// TestRepairFromLog checks that the log takes precedence over reasons, and that
// missing contents are requested.
func TestRepairFromLog(t *testing.T) {
	const head, tail = `[{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]}`, `]`
	long := call(events.ToolCallResult, `,"tool_result":"`+strings.Repeat("a", 2000)+`"`)
	for _, c := range []struct {
		name, event, want string
		wanted            int
	}{
		{"a reason", closed(events.ByResultTimeout, "Tool call f with id x timed out: no result was received. It may or may not have run."), `"Tool call f with id x timed out: no result was received. It may or may not have run."`, 0},
		{"a result", call(events.ToolCallResult, `,"tool_result":{"n":1}`), `"{\"n\":1}"`, 0},
		{"a result without its content", long, `""`, 1},
		{"an open call", call(events.ToolCallStart, ""), `"Tool call f with id x was interrupted: no result was recorded. It may or may not have run."`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := outcomes(t, c.event).Log()
			got, err := patch.Repair(patch.OpenAI, []byte(head+tail), patch.Options{Log: log})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			want := head + `,{"role":"tool","tool_call_id":"x","content":` + c.want + `}` + tail
			if string(got.History) != want || len(got.Wanted) != c.wanted {
				t.Errorf("%s:\n got  %s, wanted %d\n want %s, wanted %d", c.name, got.History, got.Wanted, want, c.wanted)
			}
			if c.wanted == 0 {
				return
			}
			log[0].Content = json.RawMessage(`"here"`)
			got, err = patch.Repair(patch.OpenAI, []byte(head+tail), patch.Options{Log: log})
			if want := strings.Replace(want, `""`, `"here"`, 1); err != nil || string(got.History) != want || got.Wanted != nil {
				t.Errorf("%s, the second time:\n got  %s, wanted %d, %v\n want %s", c.name, got.History, got.Wanted, err, want)
			}
		})
	}
}

// TestRepairWithoutIDs checks that the calls of Gemini without an id are matched with
// the log by name and args.
func TestRepairWithoutIDs(t *testing.T) {
	event := func(kind, call, name, more string) string {
		return `{"type":"` + kind + `","call":"` + call + `","id":"call_` + call + `","id_synthesized":true,"uid":"call_` + call + `","tool_name":"` + name + `"` + more + `}`
	}
	complete := func(call, name, args string) string {
		return event("tool_call_args_complete", call, name, fmt.Sprintf(`,"args_text":%q,"args_valid":true`, args))
	}
	log := outcomes(t,
		complete("1", "f", `{"x": 1.0}`), complete("2", "g", ""), complete("3", "f", `{"x":2}`), complete("4", "f", `{"x":2}`),
		event("tool_call_result", "1", "f", `,"tool_result":"first","status":"completed"`),
		event("tool_call_result", "3", "f", `,"tool_result":{"n":3},"status":"completed"`),
		event("tool_call_result", "4", "f", `,"tool_result":{"n":4},"status":"completed"`),
	).Log()
	call := func(name, args string) string { return `{"functionCall":{"name":"` + name + `"` + args + `}}` }
	result := func(name, response string) string {
		return `{"functionResponse":{"name":"` + name + `","response":` + response + `}}`
	}
	turn := func(parts ...string) string { return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` }
	answer := func(parts ...string) string { return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}` }
	const interrupted = `{"error":"Tool call g was interrupted: no result was recorded. It may or may not have run."}`
	x1, x2 := call("f", `,"args":{"x":1}`), call("f", `,"args":{"x":2}`)
	n3, n4 := result("f", `{"n":3}`), result("f", `{"n":4}`)
	notRecorded := result("f", strings.Replace(interrupted, " g ", " f ", 1))
	first, next := `{"role":"user","parts":[{"text":"Go."}]},`, ","+answer(`{"text":"And?"}`)+","
	for _, c := range []struct{ name, in, want string }{
		{"all", turn(x2) + next + turn(x2, call("g", "")) + next + turn(x1), turn(x2) + "," + answer(n3) + next + turn(x2, call("g", "")) + "," + answer(n4, result("g", interrupted)) + next + turn(x1) + "," + answer(result("f", `{"output":"first"}`))},
		{"one of two equal ones", turn(x2), turn(x2) + "," + answer(notRecorded)},
		{"other args", turn(call("f", `,"args":{"x":3}`)), turn(call("f", `,"args":{"x":3}`)) + "," + answer(notRecorded)},
		{"rewound to the first", turn(x1), turn(x1) + "," + answer(result("f", `{"output":"first"}`))},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := patch.Repair(patch.Auto, []byte("["+first+c.in+"]"), patch.Options{Log: log})
			if want := "[" + first + c.want + "]"; err != nil || string(got.History) != want {
				t.Errorf("error %v\n got %s\nwant %s", err, got.History, want)
			}
		})
	}
}
