package session

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
)

// ending is what a stream leads to: its calls as "id status", with "cut" if their args
// are incomplete, the texts of its human messages, and the statuses of its runs.
func ending(t *testing.T, stream string) (string, *Assembly) {
	t.Helper()
	a := &Assembly{}
	for line := range strings.Lines(stream) {
		a.Line([]byte(strings.TrimSpace(line)))
	}
	a.End()
	var parts []string
	for _, c := range a.Calls() {
		part := fmt.Sprintf("%s %s", c.ID, c.Status)
		if !c.Complete {
			part += " cut"
		}
		parts = append(parts, part)
	}
	for i := range a.Events {
		switch e := &a.Events[i]; e.Type {
		case events.HumanMessage:
			parts = append(parts, fmt.Sprintf("%q", e.Content))
		case events.RunFinished:
			parts = append(parts, "run "+string(e.Status))
		case events.Rejected:
			parts = append(parts, "rejected: "+e.Reason.Text)
		}
	}
	return strings.Join(parts, ", "), a
}

// TestEnds checks how calls and runs end where a stream ends calls in its own way.
func TestEnds(t *testing.T) {
	const (
		wsCall = `{"type":"response.created","response":{"id":"r1"}}
			{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"f","arguments":"{}","status":"completed"}}
			`
		rtCall = `{"type":"response.created","event_id":"e","response":{"id":"r1","object":"realtime.response","status":"in_progress"}}
			{"type":"response.output_item.added","event_id":"e","response_id":"r1","output_index":0,"item":{"id":"f","type":"function_call","call_id":"a","name":"f","arguments":"","status":"in_progress"}}
			`
		rtDone = `{"type":"response.output_item.done","event_id":"e","response_id":"r1","output_index":0,"item":{"id":"f","type":"function_call","call_id":"a","name":"f","arguments":"{}","status":"completed"}}
			`
		rtResult    = `{"type":"conversation.item.created","event_id":"e","item":{"id":"o","type":"function_call_output","call_id":"a","output":"ok"}}` + "\n"
		rtCancelled = `{"type":"response.done","event_id":"e","response":{"id":"r1","status":"cancelled","status_details":{"type":"cancelled","reason":"turn_detected"},"output":[]}}` + "\n"
		rtCompleted = `{"type":"response.done","event_id":"e","response":{"id":"r1","status":"completed","output":[]}}` + "\n"
		wsCompleted = `{"type":"response.completed","response":{"id":"r1","status":"completed","output":[]}}` + "\n"
	)
	for name, test := range map[string]struct{ stream, want string }{
		"a steered response is no failure": {
			wsCall + `{"type":"response.steer","previous_response_id":"r1","input":"No, Rome"}
			{"type":"response.steer.accepted","steer":{"previous_response_id":"r1"}}
			{"type":"response.incomplete","response":{"id":"r1","status":"incomplete","incomplete_details":{"reason":"steered"},"output":[]}}
			{"type":"response.created","response":{"id":"r2"}}
			{"type":"response.create","previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"a","output":"ok"}]}
			{"type":"response.completed","response":{"id":"r2","status":"completed","output":[]}}`,
			`a completed, "No, Rome", run completed`,
		},
		"a result comes before the response has ended": {
			wsCall + `{"type":"response.create","stream_id":"s","input":[{"type":"function_call_output","call_id":"a","output":"ok"}]}` + "\n" + wsCompleted,
			`a completed`,
		},
		"a failure in one lane spares the calls of others": {
			wsCall + wsCompleted + `{"type":"response.created","stream_id":"s","response":{"id":"r2"}}
			{"type":"response.failed","stream_id":"s","response":{"id":"r2","status":"failed","error":{"message":"broken"}}}`,
			`a args_complete`,
		},
		"a failure in the only lane ends the run": {
			`{"type":"response.created","stream_id":"s","response":{"id":"r2"}}
			{"type":"response.failed","stream_id":"s","response":{"id":"r2","status":"failed","error":{"message":"broken"}}}`,
			`run error`,
		},
		"the limit of a socket ends all of its responses": {
			`{"type":"response.created","stream_id":"s","response":{"id":"r1"}}
			{"type":"response.created","stream_id":"u","response":{"id":"r2"}}
			{"type":"response.output_item.added","stream_id":"u","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"f","arguments":""}}
			{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"websocket_connection_limit_reached","message":"60 minutes"}}`,
			`a cancelled cut, run error`,
		},
		"a refused request ends no response": {
			`{"type":"response.created","response":{"id":"r1"}}
			{"type":"error","status":400,"error":{"type":"invalid_request_error","message":"no"}}` + "\n" + wsCompleted,
			`run completed`,
		},
		"a whole history repeats old human messages": {
			`{"type":"response.create","input":[{"role":"user","content":"One"},{"role":"assistant","content":"Yes"},{"role":"user","content":"Two"}]}`,
			`"Two"`,
		},
		"a response of the Realtime API that is completed leaves its calls open": {rtCall + rtDone + rtCompleted, `a args_complete`},
		"a result in the conversation answers a call":                            {rtCall + rtDone + rtResult + rtCompleted, `a completed`},
		"a call without its end is cut off with its response":                    {rtCall + rtCancelled, `a cancelled cut, run cancelled`},
		"a complete call of a cancelled response stays open":                     {rtCall + rtDone + rtCancelled, `a args_complete`},
		"it may be answered":              {rtCall + rtDone + rtCancelled + rtResult, `a completed`},
		"an answered call stays answered": {rtCall + rtDone + rtResult + rtCancelled, `a completed, run cancelled`},
		"a call of an earlier response is not cancelled": {
			rtCall + rtDone + rtCompleted + strings.ReplaceAll(`{"type":"response.created","event_id":"e","response":{"id":"r1","status":"in_progress"}}`+"\n"+rtCancelled, `"r1"`, `"r2"`),
			`a args_complete`,
		},
		"an error of the Realtime API ends nothing": {
			rtCall + `{"type":"error","event_id":"e","error":{"type":"invalid_request_error","message":"no"}}` + "\n" + rtDone + rtResult + rtCompleted,
			`a completed`,
		},
		"events of the session are nothing": {`{"type":"session.created","event_id":"e","session":{"type":"realtime","tools":[{"type":"function","name":"f","parameters":{}}]}}
			{"type":"rate_limits.updated","event_id":"e","rate_limits":[]}
			{"type":"input_audio_buffer.speech_started","event_id":"e","audio_start_ms":1,"item_id":"u"}
			{"type":"output_audio_buffer.started","event_id":"e","response_id":"r"}
			{"type":"codex.rate_limits","plan_type":"x"}
			{"type":"conversation.item.deleted","event_id":"e","item_id":"u"}`, ``},
		"a transcript comes after the answer has begun": {
			rtCall + `{"type":"conversation.item.input_audio_transcription.completed","event_id":"e","item_id":"u","transcript":"Hi"}` + "\n" + rtDone + rtCompleted,
			`a args_complete, "Hi"`,
		},
		"a human message that the server repeats": {
			`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}}
			{"type":"conversation.item.added","event_id":"e","item":{"id":"u","type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}}
			{"type":"conversation.item.done","event_id":"e","item":{"id":"u","type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}}
			{"type":"conversation.item.added","event_id":"e","item":{"id":"v","type":"message","role":"user","content":[{"type":"input_text","text":"Ho"}]}}`,
			`"Hi", "Ho"`,
		},
		"Gemini throws a call away": {`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]}}],"responseId":"g"}
			{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL","finishMessage":"no tools"}],"responseId":"g"}`, `a cancelled, run error`},
		"Gemini throws a call away before it is shown": {`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}],"responseId":"g"}`, `run error`},
		"Gemini in Chat Completions":                   {`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}`, `run error`},
		"Gemini in LangChain":                          {`[{"type":"AIMessageChunk","id":"m","content":"","response_metadata":{"finish_reason":"MALFORMED_FUNCTION_CALL"}},{"langgraph_node":"agent"}]`, `run error`},
		"an AG-UI stream is cut before the end of a call": {
			`{"type":"RUN_STARTED","threadId":"t","runId":"r"}
			{"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"f","parentMessageId":"m"}
			{"type":"TOOL_CALL_ARGS","toolCallId":"a","delta":"{}","rawEvent":{"data":{"chunk":{"response_metadata":{"finish_reason":"tool_calls"}}}}}`,
			`a building_args cut`,
		},
		"a gateway fails after calls that each had a finish reason": {
			`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
			{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
			{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":"error","error":{"code":502,"message":"broken"}}]}`,
			`a cancelled, b cancelled, run error`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := ending(t, test.stream); got != test.want {
				t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
			}
		})
	}
}

// TestDiscardedCallSaysWhy checks that the run and the call have Gemini's reason and message.
func TestDiscardedCallSaysWhy(t *testing.T) {
	_, a := ending(t, `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]},"finishReason":"UNEXPECTED_TOOL_CALL","finishMessage":"no tools"}],"responseId":"g"}`)
	n := 0
	for i := range a.Events {
		switch e := &a.Events[i]; e.Type {
		case events.RunFinished, events.ToolCallResult:
			n++
			if !strings.Contains(e.Reason.Detail, "UNEXPECTED_TOOL_CALL: no tools") {
				t.Errorf("%s has the reason %+v", e.Type, e.Reason)
			}
		case events.MessageFinished:
			if e.FinishReason != "UNEXPECTED_TOOL_CALL" {
				t.Errorf("the message has the finish reason %q", e.FinishReason)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d ends, want 2", n)
	}
}
