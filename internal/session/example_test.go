package session_test

import (
	"fmt"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// A call is opened by a delta of OpenAI's format, and its result comes as an input
// of its own.
func ExampleFold() {
	log := []inputs.Input{
		{Seq: 1, Kind: inputs.Delta, Data: []byte(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[` +
			`{"index":0,"id":"call_a","function":{"name":"search","arguments":"{\"q\":\"go\"}"}}]},"finish_reason":"tool_calls"}]}`)},
		{Seq: 2, Kind: inputs.Result, Data: []byte(`{"tool_call_id":"call_a","content":"found"}`)},
	}
	var state session.State
	var out []events.Event
	for _, in := range log {
		in.Token, in.At = "s", time.UnixMilli(0)
		out = session.Fold(out, &state, session.Input{Input: in})
	}
	for _, e := range out {
		fmt.Println(e.EventID, e.Type)
	}
	// Output:
	// 1.0 run_started
	// 1.1 message_started
	// 1.2 tool_call_start
	// 1.3 tool_call_args_delta
	// 1.4 tool_call_args_complete
	// 2.0 tool_call_result
}

// The inputs after the start of a call were lost. The event log shows the call as
// open, and the state is that of the last snapshot.
func ExampleRecover() {
	var state session.State
	log := session.Fold(nil, &state, session.Input{Input: inputs.Input{
		Seq: 1, Token: "s", Kind: inputs.Delta, At: time.UnixMilli(0),
		Data: []byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_a","name":"search","input":{}}}`),
	}})
	var open session.OpenItems
	for i := range log {
		open.Add(&log[i])
	}

	for _, e := range session.Recover(nil, &state, session.Recovery{Session: "s", Next: events.ID{Seq: 20}, Open: open}) {
		fmt.Println(e.EventID, e.Type, e.Reason.Code)
		if e.Type == events.Synthetic {
			fmt.Println(string(e.Message))
		}
	}
	// Output:
	// 20.0 tool_call_result lost
	// 20.1 synthetic lost
	// {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_a","content":"Tool call search with id toolu_a was not run: its arguments were incomplete or malformed.","is_error":true}]}
	// 20.2 run_finished lost
}
