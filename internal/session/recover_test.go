package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

// openAfter returns the open items of an event log.
func openAfter(t *testing.T, list []events.Event) (open OpenItems) {
	t.Helper()
	for i := range list {
		if list[i].Type == events.Synthetic {
			continue
		}
		var e events.Event
		body, err := list[i].Body()
		if err == nil {
			err = json.Unmarshal(body, &e)
		}
		if err != nil {
			t.Fatal(err)
		}
		open.Add(&e)
	}
	return open
}

// foldAll folds a log and returns its state and events.
func foldAll(l log) (*State, []events.Event) {
	s := new(State)
	var out []events.Event
	for _, in := range l {
		out = Fold(out, s, in)
	}
	return s, out
}

// TestRecover checks that a lost call is closed in the shape of its session, by
// its kind and parent, and in the words of the rules.
func TestRecover(t *testing.T) {
	const response = `{"type":"response.created","response":{"id":"resp_1"}}`
	item := func(item string) []string {
		return []string{response, `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`}
	}
	zh, own := lifecycle.DefaultRules(), lifecycle.DefaultRules()
	zh.Lang = "zh"
	own.Tools = []lifecycle.ToolRule{{Pattern: "f*", Template: "{name} is gone ({id})"}}
	const interrupted = `Tool call f with id a was interrupted: no result was recorded. It may or may not have run.`
	for name, c := range map[string]struct {
		deltas []string
		rules  *Rules
		want   []string // parts of the synthetic message
	}{
		"a function of the Responses": {
			item(`{"type":"function_call","call_id":"a","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"p"}}`), nil,
			[]string{`"type":"function_call_output","call_id":"a"`, `"caller":{"type":"program","caller_id":"p"}`, interrupted},
		},
		"a custom tool of the Responses": {
			item(`{"type":"custom_tool_call","call_id":"a","name":"f","input":"x"}`), nil,
			[]string{`"type":"custom_tool_call_output","call_id":"a"`, interrupted},
		},
		"an approval of the Responses": {
			item(`{"type":"mcp_approval_request","id":"a","name":"f","arguments":"{}"}`), nil,
			[]string{`"type":"mcp_approval_response","approval_request_id":"a","approve":false`},
		},
		"Anthropic, args incomplete": {
			[]string{
				`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x"}}`,
			},
			nil,
			[]string{`"type":"tool_result","tool_use_id":"a"`, `"is_error":true`, `was not run`},
		},
		"LangChain in Chinese": {
			[]string{`[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"type":"tool_call_chunk","index":0,"id":"a","name":"f","args":"{\"x\":1}"}]},{"langgraph_node":"agent"}]`},
			&zh,
			[]string{`"type":"tool"`, `"tool_call_id":"a"`, `工具调用 f（ID 为 a）被中断`},
		},
		"a template of the tool": {
			[]string{strings.ReplaceAll(twoCalls, "call_1", "a")},
			&own,
			[]string{`"role":"tool","tool_call_id":"a"`, `f is gone (a)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, after := range []string{"its state", "the state of the first input", "no state"} {
				var l log
				for _, d := range c.deltas {
					l.add("delta", 1, d)
				}
				s, out := foldAll(l)
				open := openAfter(t, out)
				switch after {
				case "the state of the first input":
					s, _ = foldAll(l[:1])
				case "no state":
					s = &State{Read: s.Read}
				}
				got := Recover(nil, s, Recovery{Session: "s", Next: events.ID{Seq: 9, N: 3}, Open: open, Rules: c.rules})
				where := fmt.Sprintf("%s, recovered from %s", name, after)
				if len(got) < 2 || got[0].Type != events.ToolCallResult || got[1].Type != events.Synthetic {
					t.Errorf("%s: got %v, want a result and its message", where, bodies(got))
					continue
				}
				for _, part := range c.want {
					if !strings.Contains(string(got[1].Message), part) {
						t.Errorf("%s: the message is %s, want it to have %s", where, got[1].Message, part)
					}
				}
				if reason := got[0].Reason; reason.Code != events.ByLost || got[0].Status != events.Cancelled || got[0].DurationMS != nil {
					t.Errorf("%s: the result is %s", where, bodies(got[:1]))
				}
				if got[0].EventID != (events.ID{Seq: 9, N: 3}) || s.N != 9 || !s.Life.Idle() {
					t.Errorf("%s: the first event is %s, the state is after input %d, idle: %t", where, got[0].EventID, s.N, s.Life.Idle())
				}
			}
		})
	}
}

// TestRecoverAnywhere checks, for streams that are cut at many places, that every
// call that started is closed exactly once, and that the recovered state can be
// stored and continues.
func TestRecoverAnywhere(t *testing.T) {
	for i, file := range streams(t) {
		if i%stride > 0 {
			continue
		}
		whole := lines(t, file)
		for n := 0; n < len(whole); n += 1 + len(whole)/6 {
			_, out := foldAll(whole[:n+1])
			s, _ := foldAll(whole[:n/2]) // the snapshot is older than the event log
			next := events.ID{Seq: uint64(n + 2)}
			out = append(out, Recover(nil, s, Recovery{Session: "s", Next: next, Open: openAfter(t, out), Rules: whole[0].Rules})...)
			if err := eachClosedOnce(out); err != nil {
				t.Errorf("%s cut after %d: %v", file, n+1, err)
			}
			if open := openAfter(t, out); !open.Empty() || !s.Life.Idle() {
				t.Errorf("%s cut after %d: still open: %+v", file, n+1, open)
			}
			data, err := s.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(data)
			if err != nil {
				t.Fatal(err)
			}
			rest := whole[n+1:]
			if kept, again := foldOn(s, rest), foldOn(loaded, rest); strings.Join(kept, "\n") != strings.Join(again, "\n") {
				t.Errorf("%s cut after %d: the loaded state continues differently", file, n+1)
			}
		}
	}
}

func foldOn(s *State, l log) []string {
	var out []events.Event
	for _, in := range l {
		in.Seq += 10
		out = Fold(out, s, in)
	}
	return bodies(out)
}
