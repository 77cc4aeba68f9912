package session

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestReopened folds a recorded session in which the run ends in the middle of a
// message. The rest of the closed call is no part of the next one, and opens nothing.
func TestReopened(t *testing.T) {
	call := func(n int, head, args string) string {
		return fmt.Sprintf(`{"id":"m1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]},"finish_reason":null}]}`,
			n, head, map[bool]string{true: `"name":"pay",`}[head != ""], quote(args))
	}
	for _, end := range []string{`{"reason":"error"}`, `{"reason":"cancelled"}`, `{"reason":"completed"}`, `{}`} {
		t.Run(end, func(t *testing.T) {
			var a Assembly
			for _, in := range []struct {
				at   int
				kind inputs.Kind
				data string
			}{
				{0, inputs.Delta, call(0, `"id":"call_A","type":"function",`, `{"amount":1`)},
				{1000, inputs.End, end},
				{1500, inputs.Delta, call(0, "", "0")},
				{2000, inputs.Delta, call(1, `"id":"call_B","type":"function",`, `{"amount":5`)},
				{2100, inputs.Delta, call(0, "", "00")},
				{2200, inputs.Delta, call(1, "", `,"to":"x"}`)},
				{2300, inputs.Delta, `{"id":"m1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`},
			} {
				a.Input(in.kind, time.Duration(in.at)*time.Millisecond, []byte(in.data))
			}
			a.End()
			calls := a.Calls()
			if len(calls) != 2 || calls[0].ArgsText != `{"amount":1` || calls[0].Complete || calls[1].ID != "call_B" || calls[1].ArgsText != `{"amount":5,"to":"x"}` || !calls[1].ArgsValid {
				t.Errorf("end %s: the calls are", end)
				for _, c := range calls {
					t.Errorf("%+v", *c)
				}
			}
			count := map[events.Type]int{}
			for i := range a.Events {
				count[a.Events[i].Type]++
				if r := a.Events[i].Reason; a.Events[i].Type == events.Rejected && r.Code != events.CallClosed {
					t.Errorf("end %s: rejected with %s: %s", end, r.Code, r.Text)
				}
			}
			if count[events.RunStarted] != 2 || count[events.MessageStarted] != 2 || count[events.ToolCallStart] != 2 || count[events.Rejected] != 1 {
				t.Errorf("end %s: events %v, want two runs, messages and calls each, and one rejection", end, count)
			}
		})
	}
}
