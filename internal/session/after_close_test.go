package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestAfterClose checks a model that continues a call which the args deadline or an
// interrupt closed. In every format that is reported once and opens no call, and a
// result is late.
func TestAfterClose(t *testing.T) {
	for name, stream := range map[string]struct{ before, after []string }{
		"openai-chat": {
			[]string{`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"{\"x"}}]}}]}`},
			[]string{
				`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":"}}]}}]}`,
				`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
				`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
			},
		},
		"anthropic": {
			[]string{
				`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x"}}`,
			},
			[]string{
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\":"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
				`{"type":"message_stop"}`,
			},
		},
		"openai-responses": {
			[]string{
				`{"type":"response.created","response":{"id":"m","object":"response","status":"in_progress","output":[]}}`,
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"x"}`,
			},
			[]string{
				`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"\":"}`,
				`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"1}"}`,
				`{"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":"{\"x\":1}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"x\":1}"}}`,
				`{"type":"response.completed","response":{"id":"m","object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"x\":1}"}]}}`,
			},
		},
		"langchain": {
			[]string{`[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"type":"tool_call_chunk","index":0,"id":"call_1","name":"f","args":"{\"x"}]},{"langgraph_node":"agent"}]`},
			[]string{
				`[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"type":"tool_call_chunk","index":0,"id":null,"name":null,"args":"\":"}]},{"langgraph_node":"agent"}]`,
				`[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"type":"tool_call_chunk","index":0,"id":null,"name":null,"args":"1}"}]},{"langgraph_node":"agent"}]`,
				`[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[],"response_metadata":{"finish_reason":"tool_calls"}},{"langgraph_node":"agent"}]`,
			},
		},
	} {
		first := int((2 * time.Minute).Milliseconds()) + 1000
		for _, closing := range []inputs.Input{
			{Kind: inputs.Clock, Data: fmt.Appendf(nil, `{"kind":"deadline","call":"%d.0"}`, min(2, len(stream.before)))},
			{Kind: inputs.Interrupt, Data: []byte(`{"tool_call_id":"call_1"}`)},
		} {
			var l log
			for _, data := range stream.before {
				l.add(inputs.Delta, 1, data)
			}
			l.add(closing.Kind, first, string(closing.Data))
			for _, data := range stream.after {
				l.add(inputs.Delta, first+1, data)
			}
			l.add(inputs.Result, first+2, `{"tool_call_id":"call_1","content":"late"}`)
			l.add(inputs.Clock, first+1000, `{"kind":"flush"}`)
			checkAfterClose(t, name+" closed by "+string(closing.Kind), l)
		}
	}
}

func checkAfterClose(t *testing.T, name string, l log) {
	var s State
	var out []events.Event
	for _, in := range l {
		out = Fold(out, &s, in)
	}
	count := map[events.Type]int{}
	for i := range out {
		e := &out[i]
		count[e.Type]++
		if e.Type == events.Rejected && (e.Reason.Code != events.CallClosed || !strings.Contains(e.Reason.Text, `"call_1"`)) {
			t.Errorf("%s: rejected with %s: %s", name, e.Reason.Code, e.Reason.Text)
		}
	}
	if count[events.ToolCallStart] != 1 || count[events.ToolCallResult] != 1 || count[events.Rejected] != 1 || count[events.ToolCallLateResult] != 1 || count[events.OrphanResult] != 0 {
		t.Errorf("%s: want one start, result, rejected and late result each:\n%s", name, strings.Join(bodies(out), "\n"))
	}
	if got, want := foldResumed(t, l), bodies(out); !slices.Equal(got, want) {
		t.Errorf("%s: resumed:\n%s\nfolded at once:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
