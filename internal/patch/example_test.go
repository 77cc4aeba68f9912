package patch_test

import (
	"fmt"

	"streamer/internal/events"
	"streamer/internal/patch"
)

// A call without a result gets a synthetic one, directly behind its message.
func ExampleRepair() {
	history := `[
{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"search","arguments":"{}"}}]},
{"role":"user","content":"Never mind."}
]`
	repaired, err := patch.Repair(patch.Auto, []byte(history), patch.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(repaired.History))
	for _, op := range repaired.Report.Ops {
		fmt.Println(op.Op, op.ID, op.Reason)
	}
	// Output:
	// [
	// {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"search","arguments":"{}"}}]},
	// {"role":"tool","tool_call_id":"call_1","content":"Tool call search with id call_1 was interrupted: no result was recorded. It may or may not have run."},
	// {"role":"user","content":"Never mind."}
	// ]
	// result_added call_1 interrupted
}

// A synthetic result for a call that timed out, in Anthropic's shape.
func ExampleSynthetic() {
	message, err := patch.Synthetic(patch.Anthropic, patch.Call{ID: "toolu_1", Name: "search"}, events.TextTimeout, "The tool did not answer.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(message))
	// Output:
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"The tool did not answer.","is_error":true}]}
}
