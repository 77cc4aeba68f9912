package decode

import (
	"fmt"
	"reflect"
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
		"user without result": {`{"role":"user","content":[{"type":"text","text":"x"}]}`, "problem bad_shape at 0: the user message has no tool_result block"},
	} {
		var b strings.Builder
		results, problem := Result([]byte(c.in))
		for _, r := range results {
			b.WriteString(spell(r) + "\n")
		}
		if problem != nil {
			fmt.Fprintf(&b, "problem %s at %d: %s", problem.Code, problem.Offset, problem.Text)
		}
		if got := strings.TrimSpace(b.String()); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", name, c.in, got, c.want)
		}
	}
}

// words gives a problem's text, or "".
func words(p *Problem) string {
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
		`[]`:                                                   "the progress is an array, not an object",
		``:                                                     "the progress is empty",
	} {
		c, problem := Progress([]byte(in))
		got := words(problem)
		if problem == nil {
			got = spell(c)
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestInterrupt(t *testing.T) {
	for in, want := range map[string]InterruptBody{
		"":   {},
		"{}": {},
		`{"reason":"stop","tool_call_ids":["a","b"],"calls":["3.0"],"message_id":"","run":"r"}`: {Reason: "stop", ToolCallIDs: []string{"a", "b"}, Calls: []string{"3.0"}, HasMessageID: true, Run: "r"},
		`{"message_id":null,"calls":null}`: {},
	} {
		if got, problem := Interrupt([]byte(in)); problem != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v, problem %v\nwant %+v", in, got, problem, want)
		}
	}
	for in, want := range map[string]string{
		`{"tool_call_ids":"a"}`: "tool_call_ids is a string, not a list of strings",
		`{"calls":["a",1]}`:     "calls[1] is a number, not a string",
		`{"run":{}}`:            "run is an object, not a string",
		`7`:                     "the interrupt is a number, not an object",
	} {
		if _, problem := Interrupt([]byte(in)); words(problem) != want {
			t.Errorf("%s\n got %q\nwant %q", in, words(problem), want)
		}
	}
}

func TestEnd(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "completed",
		"{}":                     "completed",
		`{"reason":null}`:        "completed",
		`{"reason":"error"}`:     "error",
		`{"reason":"cancelled"}`: "cancelled",
		`{"reason":"done"}`:      `reason is "done", not one of ["completed" "error" "cancelled"]`,
	} {
		got, problem := End([]byte(in))
		if problem != nil {
			got = problem.Text
		}
		if got != want {
			t.Errorf("%s\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	for in, want := range map[string]Tick{
		`{"kind":"deadline","call":"3.0","at":"2026-03-02T10:00:00.123Z"}`: {"deadline", "3.0", 1772445600123},
		`{"kind":"deadline","call":"3.0","at":1772445600123}`:              {"deadline", "3.0", 1772445600123},
		`{"kind":"flush"}`:    {Kind: "flush"},
		`{"kind":"run_idle"}`: {Kind: "run_idle"},
	} {
		if got, problem := Clock([]byte(in)); problem != nil || got != want {
			t.Errorf("%s\n got %+v, problem %v\nwant %+v", in, got, problem, want)
		}
	}
	for in, want := range map[string]string{
		`{}`:                  `kind is "", not one of ["deadline" "flush" "run_idle"]`,
		`{"kind":"deadline"}`: "a deadline names its call: call is missing or empty",
		`{"kind":"deadline","call":"a","at":"later"}`: `at is "later", neither RFC 3339 nor milliseconds`,
		`{"kind":"deadline","call":"a","at":1.5}`:     "at is 1.5, neither RFC 3339 nor milliseconds",
	} {
		if _, problem := Clock([]byte(in)); words(problem) != want {
			t.Errorf("%s\n got %q\nwant %q", in, words(problem), want)
		}
	}
}
