package decode

import (
	"reflect"
	"testing"
)

// TestVersionOne checks that control inputs of fold version 1 are read as when the logs
// of that version were folded.
func TestVersionOne(t *testing.T) {
	for in, want := range map[string]InterruptBody{
		"":                     {},
		`{"call":"3.0"}`:       {},
		`{"tool_call_id":"a"}`: {},
		`{"calls":[]}`:         {},
		`{"run":null}`:         {},
		`{"run_id":"x"}`:       {},
		`{"Calls":["x"]}`:      {},
		`{"reason":null}`:      {},
		`{"message_id":""}`:    {HasMessageID: true},
		`{"reason":"stop","tool_call_ids":["a","b"],"calls":["3.0"],"message_id":"","run":"r"}`: {Reason: "stop", ToolCallIDs: []string{"a", "b"}, Calls: []string{"3.0"}, HasMessageID: true, Run: "r"},
		`{"message_id":null,"calls":null}`:  {},
		`{"calls":["3.0"],"calls":["4.0"]}`: {Calls: []string{"4.0"}},
	} {
		if got, problem := InterruptV1([]byte(in)); problem != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("interrupt %s\n got %+v, problem %v\nwant %+v", in, got, problem, want)
		}
	}
	for in, want := range map[string]string{
		"":                   "completed",
		`{"reason":null}`:    "completed",
		`{"status":"error"}`: "completed",
		`{"reason":"done"}`:  `reason is "done", not one of ["completed" "error" "cancelled"]`,
	} {
		got, problem := EndV1([]byte(in))
		if problem != nil {
			got = problem.Text
		}
		if got != want {
			t.Errorf("end %s\n got %q\nwant %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"tool_call_id":"a","percent":250}`: `progress ID="a" Percent=250 HasPercent=true`,
		`{"toolCallId":"a"}`:                 noTarget,
	} {
		c, problem := ProgressV1([]byte(in))
		got := textOf(problem)
		if problem == nil {
			got = spell(c)
		}
		if got != want {
			t.Errorf("progress %s\n got %s\nwant %s", in, got, want)
		}
	}
	if got, problem := new(Reader).ResultV1([]byte(`{"tool_call_id":"a","Content":"x"}`)); problem != nil || len(got) != 1 || got[0].Text != "" {
		t.Errorf("result: got %+v, problem %v, want an empty one", got, problem)
	}
}
