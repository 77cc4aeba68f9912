package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestResult(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"native":              {`{"tool_call_id":"a","call":"4.0","content":"ok","status":"denied"}`, `result ID="a" Call="4.0" Text="ok" Status="denied"`},
		"native by call":      {`{"call":"4.0","content":{"n": 1}}`, `result Call="4.0" Content="{\"n\":1}" Status="success"`},
		"LangChain":           {`{"type":"tool","tool_call_id":"a","name":"f","content":[{"type":"text","text":"x"}],"status":"error","artifact":{"id":1}}`, `result ID="a" Name="f" Content="[{\"type\":\"text\",\"text\":\"x\"}]" Status="error"`},
		"LangChain dict":      {`{"type":"tool","data":{"content":"x","tool_call_id":"a","id":"m"}}`, `result ID="a" Text="x" Status="success"`},
		"LangChain lc":        {`{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":"x","tool_call_id":"a"}}`, `result ID="a" Text="x" Status="success"`},
		"OpenAI":              {`{"role":"tool","tool_call_id":"a","content":"\ud83d\ude00"}`, `result ID="a" Text="😀" Status="success"`},
		"Anthropic":           {`{"type":"tool_result","tool_use_id":"a","is_error":true}`, `result ID="a" Status="error"`},
		"Anthropic message":   {`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"text","text":"y"},{"type":"tool_result","tool_use_id":"b","content":"z"}]}`, "result ID=\"a\" Text=\"x\" Status=\"success\"\nresult ID=\"b\" Text=\"z\" Status=\"success\""},
		"Responses":           {`{"type":"function_call_output","id":"fc_1","call_id":"a","output":"x","status":"completed"}`, `result ID="a" Text="x" Status="success"`},
		"Gemini":              {`{"functionResponse":{"name":"f","response":{"output": 1}}}`, `result Name="f" Content="{\"output\":1}" Status="success"`},
		"Gemini content":      {`{"role":"user","parts":[{"text":"x"},{"functionResponse":{"id":"a","name":"f","response":{"error":"x"}}}]}`, `result ID="a" Name="f" Content="{\"error\":\"x\"}" Status="error"`},
		"Gemini without any":  {`{"role":"user","parts":[{"text":"x"}]}`, "problem bad_shape at 0: the content has no part with a functionResponse"},
		"Ollama":              {`{"role":"tool","tool_name":"f","content":"x"}`, `result Name="f" Text="x" Status="success"`},
		"Ollama with an id":   {`{"role":"tool","tool_name":"f","tool_call_id":"a","content":"x"}`, `result ID="a" Text="x" Status="success"`},
		"approval":            {`{"type":"mcp_approval_response","approval_request_id":"a","approve":false,"reason":"no"}`, `result ID="a" Text="no" Status="denied"`},
		"approval unsaid":     {`{"type":"mcp_approval_response","approval_request_id":"a"}`, "problem bad_shape at 0: approve is missing; it must be a boolean"},
		"several":             {` [ {"tool_call_id":"a","content":"x"}, {"content":"y"}, {"tool_call_id":"c","content":null} ] `, "result ID=\"a\" Text=\"x\" Status=\"success\"\nresult ID=\"c\" Status=\"success\"\nproblem bad_shape at 0: result 1: the result names no call: tool_call_id is missing or empty"},
		"empty":               {" \n", "problem bad_shape at 0: the result is empty"},
		"no JSON":             {` {"a":x}`, "problem bad_json at 6: 'x' where a JSON value is expected"},
		"cut":                 {`{"tool_call_id":"a`, "problem bad_json at 18: the JSON text ends before it is complete"},
		"no UTF-8":            {"{\"a\":\"\xff\"}", "problem bad_utf8 at 6: byte 0xff is not UTF-8"},
		"string":              {`"ok"`, "problem bad_shape at 0: the result is a string, not an object"},
		"id is a number":      {`{"tool_call_id":7,"content":"x"}`, "problem bad_shape at 0: tool_call_id is a number, not a string"},
		"empty Anthropic id":  {`{"type":"tool_result","tool_use_id":"","content":"x"}`, "problem bad_shape at 0: the result names no call: tool_use_id is missing or empty"},
		"unknown status":      {`{"tool_call_id":"a","content":"x","status":"maybe"}`, `problem bad_shape at 0: status is "maybe", not one of ["success" "error" "denied"]`},
		"status is a boolean": {`{"tool_call_id":"a","content":"x","status":true}`, "problem bad_shape at 0: status is a boolean, not a string"},
		"is_error is a word":  {`{"type":"tool_result","tool_use_id":"a","is_error":"no"}`, "problem bad_shape at 0: is_error is a string, not a boolean"},
		"another message":     {`{"type":"human","data":{"content":"x"}}`, `problem bad_shape at 0: the message is of type "human", not tool`},
		"another constructor": {`{"lc":1,"type":"constructor","id":["AIMessage"],"kwargs":{}}`, `problem bad_shape at 0: the message is a "AIMessage", not a ToolMessage`},
		"native, empty":       {`{"tool_call_id":"a"}`, `result ID="a" Status="success"`},
		"native, metadata":    {`{"tool_call_id":"a","content":"x","took_ms":5}`, `result ID="a" Text="x" Status="success"`},
		"native, misspelt":    {`{"tool_call_id":"a","Content":"x"}`, `problem bad_shape at 0: the result has no field "Content"; did you mean content? Its fields are tool_call_id, call, content, status, name, tool_state`},
		"native, no content":  {`{"tool_call_id":"a","text":"x"}`, `problem bad_shape at 0: content is missing, and the result has no field "text"; its fields are tool_call_id, call, content, status, name, tool_state`},
		"native, other case":  {`{"tool_call_id":"a","content":"x","STATUS":"error"}`, `problem bad_shape at 0: the result has no field "STATUS"; did you mean status? Its fields are tool_call_id, call, content, status, name, tool_state`},
		"native, twice":       {`[{"tool_call_id":"a","content":"x","content":"y"},{"tool_call_id":"b","content":"z"}]`, "result ID=\"b\" Text=\"z\" Status=\"success\"\nproblem bad_shape at 0: result 0: the result has content twice"},
		"user without result": {`{"role":"user","content":[{"type":"text","text":"x"}]}`, "problem bad_shape at 0: the user message has no tool_result block"},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			results, problem := new(Reader).Result([]byte(c.in))
			for _, r := range results {
				b.WriteString(spell(r) + "\n")
			}
			if problem != nil {
				fmt.Fprintf(&b, "problem %s at %d: %s", problem.Code, problem.Offset, problem.Text)
			}
			if got := strings.TrimSpace(b.String()); got != c.want {
				t.Errorf("%s: %s\n got %s\nwant %s", name, c.in, got, c.want)
			}
		})
	}
}

// textOf returns the text of a problem, or "".
func textOf(p *Problem) string {
	if p == nil {
		return ""
	}
	return p.Text
}

func TestProgress(t *testing.T) {
	for in, want := range map[string]string{
		`{"tool_call_id":"a","message":"half","percent":50.5}`: `progress ID="a" Text="half" Percent=50.5 HasPercent=true`,
		`{"call":"3.1","percent":0}`:                           `progress Call="3.1" HasPercent=true`,
		`{"message":"x"}`:                                      "the progress names no call: tool_call_id is missing or empty",
		`{"tool_call_id":"a","percent":"50"}`:                  "percent is a string, not a number",
		`{"tool_call_id":"a","percent":1e999}`:                 "percent is 1e999, which is no usable number",
		`{"tool_call_id":"a","percent":100}`:                   `progress ID="a" Percent=100 HasPercent=true`,
		`{"tool_call_id":"a","percent":100.5}`:                 "percent is 100.5, not a number from 0 to 100",
		`{"tool_call_id":"a","percent":-1}`:                    "percent is -1, not a number from 0 to 100",
		`{"tool_call_id":"a","percent":NaN}`:                   "'N' where a JSON value is expected",
		`{"toolCallId":"a"}`:                                   `the progress names no call: tool_call_id is missing or empty; the progress has no field "toolCallId"; did you mean tool_call_id? Its fields are tool_call_id, call, message, percent`,
		`[]`:                                                   "the progress is an array, not an object",
		``:                                                     "the progress is empty",
	} {
		t.Run(in, func(t *testing.T) {
			c, problem := Progress([]byte(in))
			got := textOf(problem)
			if problem == nil {
				got = spell(c)
			}
			if got != want {
				t.Errorf("%s\n got %s\nwant %s", in, got, want)
			}
		})
	}
}

// TestInterrupt checks that only an empty body, {} and a reason alone name nothing.
func TestInterrupt(t *testing.T) {
	two := int64(2)
	for in, want := range map[string]InterruptBody{
		"":                  {},
		" \n":               {},
		"{}":                {},
		`{"reason":"stop"}`: {Reason: "stop"},
		`{"reason":""}`:     {},
		`{"reason":"stop","tool_call_ids":["a","b"],"calls":["3.0"],"message_id":"m","run":"r"}`: {Reason: "stop", ToolCallIDs: []string{"a", "b"}, Calls: []string{"3.0"}, MessageID: "m", Run: "r"},
		`{"call":"3.0"}`:       {Calls: []string{"3.0"}},
		`{"tool_call_id":"a"}`: {ToolCallIDs: []string{"a"}},
		`{"call":"3.0","calls":["4.0"],"tool_call_ids":["a"],"tool_call_id":"b"}`: {Calls: []string{"3.0", "4.0"}, ToolCallIDs: []string{"a", "b"}},
		`{"\u0063alls":["3.0"]}`:                                        {Calls: []string{"3.0"}},
		`{"namespace":"a|b"}`:                                           {Namespace: "a|b"},
		`{"of":33,"binding":{"calls_out":[],"process":"ended"}}`:        {Of: 33, Binding: Binding{CallsOut: []string{}, Process: "ended"}},
		`{"of":33,"binding":{"calls_out":["a"],"requests_answered":2}}`: {Of: 33, Binding: Binding{CallsOut: []string{"a"}, Answered: &two}},
	} {
		t.Run(fmt.Sprintf("%.60s", in), func(t *testing.T) {
			if got, problem := Interrupt([]byte(in)); problem != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s\n got %+v, problem %v\nwant %+v", in, got, problem, want)
			}
		})
	}
	const fields = "Its fields are reason, tool_call_ids, tool_call_id, calls, call, message_id, run, namespace"
	for in, want := range map[string]string{
		`{"tool_call_ids":"a"}`:               "tool_call_ids is a string, not a list of strings",
		`{"tool_call_id":["a"]}`:              "tool_call_id is an array, not a string",
		`{"call":7}`:                          "call is a number, not a string",
		`{"call":""}`:                         "call is empty; it must name what to close, or be left out",
		`{"calls":["a",1]}`:                   "calls[1] is a number, not a string",
		`{"calls":["a",""]}`:                  "calls[1] is empty; it must name what to close, or be left out",
		`{"calls":[]}`:                        "calls is an empty list; it must name what to close, or be left out",
		`{"calls":null}`:                      "calls is null, not a list of strings",
		`{"tool_call_ids":[]}`:                "tool_call_ids is an empty list; it must name what to close, or be left out",
		`{"run":null}`:                        "run is null, not a string",
		`{"run":{}}`:                          "run is an object, not a string",
		`{"namespace":""}`:                    "namespace is empty; it must name what to close, or be left out",
		`{"of":0,"binding":{}}`:               "of is 0, not a positive integer",
		`{"of":3}`:                            "binding is missing; it must be an object",
		`{"of":3,"run":"a","binding":{}}`:     `the interrupt has no field "run"; did you mean of? Its fields are of, binding`,
		`{"of":3,"binding":{"process":"x"}}`:  `process is "x", not one of ["running" "ended"]`,
		`{"run":""}`:                          "run is empty; it must name what to close, or be left out",
		`{"message_id":""}`:                   "message_id is empty; it must name what to close, or be left out",
		`{"reason":null}`:                     "reason is null, not a string",
		`{"reason":{"text":"x"}}`:             "reason is an object, not a string",
		`{"run_id":"x"}`:                      `the interrupt has no field "run_id"; did you mean run? ` + fields,
		`{"Calls":["x"]}`:                     `the interrupt has no field "Calls"; did you mean calls? ` + fields,
		`{"reason":"user","toolCallIds":[]}`:  `the interrupt has no field "toolCallIds"; did you mean tool_call_ids? ` + fields,
		`{"":1}`:                              `the interrupt has no field ""; did you mean run? ` + fields,
		`{"calls":["3.0"],"calls":["4.0"]}`:   "the interrupt has calls twice",
		`{"reason":"a","reason":"b"}`:         "the interrupt has reason twice",
		`7`:                                   "the interrupt is a number, not an object",
		`null`:                                "the interrupt is null, not an object",
		`[]`:                                  "the interrupt is an array, not an object",
		`{"calls":["3.0"]`:                    "the JSON text ends before it is complete",
		`{"calls":[` + names(1001) + `]}`:     "calls has more than 1000 elements; send several interrupts",
		`{"calls":["3.0"],"tool_call_id":[]}`: "tool_call_id is an array, not a string",
	} {
		t.Run(in, func(t *testing.T) {
			got, problem := Interrupt([]byte(in))
			if textOf(problem) != want || !reflect.DeepEqual(got, InterruptBody{}) {
				t.Errorf("%.80s\n got %q and %+v\nwant %q and nothing", in, textOf(problem), got, want)
			}
		})
	}
}

// names returns n strings of JSON.
func names(n int) string { return strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") }

func TestEnd(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "completed",
		"{}":                               "completed",
		`{"reason":"error"}`:               "error",
		`{"reason":"cancelled"}`:           "cancelled",
		`{"reason":null}`:                  "reason is null, not a string",
		`{"reason":""}`:                    `reason is "", not one of ["completed" "error" "cancelled"]`,
		`{"reason":"done"}`:                `reason is "done", not one of ["completed" "error" "cancelled"]`,
		`{"reason":"error","run":"r"}`:     `the end has no field "run"; did you mean reason? Its fields are reason`,
		`{"status":"error"}`:               `the end has no field "status"; did you mean reason? Its fields are reason`,
		`{"reason":"error","reason":"ok"}`: "the end has reason twice",
	} {
		t.Run(in, func(t *testing.T) {
			got, problem := End([]byte(in))
			if problem != nil {
				got = problem.Text
			}
			if got != want {
				t.Errorf("%s\n got %q\nwant %q", in, got, want)
			}
		})
	}
}

// FuzzInterrupt checks that a valid body that names nothing is empty, {} or a reason
// alone, and that a valid body names no more than it contains.
func FuzzInterrupt(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"reason":"user"}`, `{"call":"3.0"}`, `{"calls":[]}`, `{"calls":null}`, `{"Calls":["x"]}`, `{"run_id":"x"}`,
		`{"calls":["3.0"],"tool_call_ids":["a","b"],"message_id":"m","run":"r"}`, `{"\u0072un":"r"}`, `{"run":"\ud800"}`, `{"reason":"a","reason":"b"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, problem := Interrupt(data)
		if problem != nil {
			if problem.Text == "" || !reflect.DeepEqual(in, InterruptBody{}) {
				t.Errorf("%q: problem %+v beside %+v", data, problem, in)
			}
			return
		}
		var fields map[string]any
		if len(bytes.TrimSpace(data)) > 0 {
			if err := json.Unmarshal(data, &fields); err != nil {
				t.Fatalf("%q is used and is not a JSON object: %v", data, err)
			}
		}
		delete(fields, "reason")
		everything := len(in.ToolCallIDs)+len(in.Calls) == 0 && in.MessageID == "" && in.Run == ""
		if everything != (len(fields) == 0) {
			t.Errorf("%q: everything is %v, with the fields %v beside the reason", data, everything, fields)
		}
		if slices.Contains(in.ToolCallIDs, "") || slices.Contains(in.Calls, "") {
			t.Errorf("%q: names nothing in %+v", data, in)
		}
	})
}

func TestClock(t *testing.T) {
	for in, want := range map[string]Tick{
		`{"kind":"deadline","call":"3.0","at":"2026-03-02T10:00:00.123Z"}`: {Kind: "deadline", Call: "3.0", At: 1772445600123},
		`{"kind":"deadline","call":"3.0","at":1772445600123}`:              {Kind: "deadline", Call: "3.0", At: 1772445600123},
		`{"kind":"flush"}`:              {Kind: "flush"},
		`{"kind":"flush","ended":true}`: {Kind: "flush", Ended: true},
		`{"kind":"run_idle"}`:           {Kind: "run_idle"},
	} {
		t.Run(in, func(t *testing.T) {
			if got, problem := Clock([]byte(in)); problem != nil || got != want {
				t.Errorf("%s\n got %+v, problem %v\nwant %+v", in, got, problem, want)
			}
		})
	}
	for in, want := range map[string]string{
		`{}`:                  `kind is "", not one of ["deadline" "flush" "run_idle"]`,
		`{"kind":"deadline"}`: "a deadline names its call: call is missing or empty",
		`{"kind":"deadline","call":"a","at":"later"}`: `at is "later", neither RFC 3339 nor milliseconds`,
		`{"kind":"deadline","call":"a","at":1.5}`:     "at is 1.5, neither RFC 3339 nor milliseconds",
	} {
		t.Run(in, func(t *testing.T) {
			if _, problem := Clock([]byte(in)); textOf(problem) != want {
				t.Errorf("%s\n got %q\nwant %q", in, textOf(problem), want)
			}
		})
	}
}
