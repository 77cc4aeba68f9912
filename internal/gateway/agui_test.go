package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"streamer/internal/gateway/agui"
	"streamer/internal/inputs"
)

// agEvents returns the events of a stream in the protocol ag-ui: the type, and the
// first of its ids and texts.
func agEvents(t *testing.T, body string) (list []string) {
	t.Helper()
	for f := range strings.SplitSeq(body, "\n\n") {
		data, ok := strings.CutPrefix(f, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type, ThreadID, RunID, ToolCallID, MessageID, Delta, Code string
			Messages                                                  json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		text := e.Delta + e.Code + string(e.Messages)
		if text == "" {
			text = strings.TrimPrefix(e.ThreadID+"/"+e.RunID, "/") + e.ToolCallID
		}
		list = append(list, strings.TrimSpace(e.Type+" "+text))
	}
	return list
}

// TestAGUITurn checks the streams of the last turn of a session: of a client without a
// history, of one with a history, and of one that has received the stream before.
func TestAGUITurn(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m0", "before", "")
	f.message("m1", "Look:", oneCall)
	f.add(inputs.Result, `{"tool_call_id":"call_a","content":"1"}`)
	f.add(inputs.End, `{}`)
	url := serve(t, Options{}, store) + "/v1/ag-ui/s"
	rest := []string{
		"TEXT_MESSAGE_START", "TOOL_CALL_START call_a", "TOOL_CALL_ARGS {}", "TOOL_CALL_END call_a",
		"TEXT_MESSAGE_CONTENT Look:", "TEXT_MESSAGE_END", "TOOL_CALL_RESULT call_a",
	}
	const (
		asked  = `{"id":"u1","role":"user","content":"go"}`
		others = `{"id":"msg_1.1","role":"assistant","content":"before"}`
		own    = `{"id":"msg_4.1","role":"assistant","content":"Look:","toolCalls":[]},{"id":"res_4.3","role":"tool","toolCallId":"call_a","content":"1"}`
	)
	input := func(messages string) string {
		return `{"threadId":"t","runId":"r","protocolVersion":"1.0","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[` + messages + `]}`
	}
	for _, c := range []struct {
		method, body, ids, snapshot string
	}{
		{"GET", "", "s/4.0", ""},
		{"POST", `{}`, "s/4.0", ""},
		{"POST", input(""), "t/r", ""},
		{"POST", input(asked), "t/r", asked},
		{
			"POST", input(`{"id":"m1","role":"system","content":"Obey."}`), "t/r", // the log has the id, but not this message
			`{"id":"m1","role":"system","content":"Obey."}`,
		},
		{
			"POST", input(`{"id":"m1","role":"assistant","content":"Look:"}`), "t/r", `{"id":"m1","role":"assistant"}`,
		},
		{
			"POST", input(others + "," + asked + "," + own + "," + `{"id":"u2","role":"user","content":"more"}`), "t/r",
			others + "," + asked + `,{"id":"msg_4.1","role":"assistant"},{"id":"u2","role":"user","content":"more"}`,
		},
	} {
		t.Run(fmt.Sprintf("%.60s", c.method+" "+c.body), func(t *testing.T) {
			want := []string{"RUN_STARTED " + c.ids}
			if c.snapshot != "" {
				want = append(want, "MESSAGES_SNAPSHOT ["+c.snapshot+"]")
			}
			want = append(append(want, rest...), "RUN_FINISHED "+c.ids)
			resp, body := do(t, c.method, url, c.body)
			if got := agEvents(t, body); resp.StatusCode != 200 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %s:\ngot  %d %q\nwant %q\n%s", c.method, c.body, resp.StatusCode, got, want, body)
			}
		})
	}
	if n := len(store.inputs); n > 0 {
		t.Errorf("%d inputs were stored, want none", n)
	}
}

// TestAGUIWaits checks that the stream of a session without runs waits for the first
// one, and that a server that stops ends a stream with an error: clients take an
// orderly end for the end of a run.
func TestAGUIWaits(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	url := serve(t, Options{}, store) + "/v1/ag-ui/s"
	c := openChunks(t, url)
	f.message("m1", "one", "")
	c.want("RUN_STARTED", "TEXT_MESSAGE_START m1", "TEXT_MESSAGE_CONTENT m1one", "TEXT_MESSAGE_END m1", "RUN_FINISHED", "EOF")
	openChunks(t, url).want("RUN_STARTED", "TEXT_MESSAGE_START m1")
	openChunks(t, url+"?last_event_id="+itoa(len(store.log)-1)).want("RUN_STARTED", "TEXT_MESSAGE_START m1")
	behind := openChunks(t, url+"?last_event_id="+itoa(len(store.log)))
	next := openChunks(t, url+"?after=4")
	f.add(inputs.Delta, `{"id":"m2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"two"},"finish_reason":null}]}`)
	next.want("RUN_STARTED", "TEXT_MESSAGE_START m2", "TEXT_MESSAGE_CONTENT m2two")
	behind.want("RUN_STARTED", "TEXT_MESSAGE_START m2", "TEXT_MESSAGE_CONTENT m2two")
	store.breakDown()
	next.want("RUN_ERROR", io.EOF.Error())
}

// TestTurnIsContinued checks that a client that waits for the run after the answer to
// a call gets the call and its result, which are stored before that run starts.
func TestTurnIsContinued(t *testing.T) {
	for path, want := range map[string][]string{
		"/v1/ag-ui/s": {
			"RUN_STARTED", "TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END",
			"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START",
		},
		"/v1/ai-sdk/s/stream": {
			"start", "start-step", "text-start", "tool-input-start", "tool-input-delta",
			"tool-input-available", "text-delta", "text-end", "finish-step", "tool-output-available", "start-step",
		},
	} {
		t.Run(path, func(t *testing.T) {
			store := newMemory()
			f := &folded{t: t, store: store}
			f.message("m1", "Look:", oneCall)
			f.add(inputs.End, `{}`)
			answer := f.add(inputs.Result, `{"tool_call_id":"call_a","content":"1"}`)
			c := openChunks(t, serve(t, Options{}, store)+path+"?after="+itoa(int(answer)))
			f.message("m2", "two", "")
			for _, w := range want {
				if got, _, _ := strings.Cut(c.next(), " "); got != w {
					t.Fatalf("%s: got %q, want %q", path, got, w)
				}
			}
		})
	}
}

// TestAGUIRefuses checks the answers to bodies that are not those of a client.
func TestAGUIRefuses(t *testing.T) {
	url := serve(t, Options{}, newMemory()) + "/v1/ag-ui/s"
	for body, want := range map[string]string{
		"":                               "not a RunAgentInput",
		"[]":                             "not a RunAgentInput",
		`{"messages":{}}`:                "not a RunAgentInput",
		`{"threadId":5}`:                 "not a RunAgentInput",
		`{"messages":[1]}`:               "message 0 is not an object",
		`{"messages":[{"role":"user"}]}`: "message 0 is not an object with an id",
		`{"messages":[{"id":"a"},"x"]}`:  "message 0 is not an object with an id and a role",
		`{"messages":[` + "\x00" + `]}`:  "not a RunAgentInput",
		`{"messages":[{"id":"a","role":`: "not a RunAgentInput",
	} {
		t.Run(body, func(t *testing.T) {
			if resp, got := do(t, "POST", url, body); resp.StatusCode != 400 || !strings.Contains(got, want) {
				t.Errorf("%s: got %d %s, want 400 with %q", body, resp.StatusCode, got, want)
			}
		})
	}
	if resp, _ := do(t, "POST", url, `{"state":"`+strings.Repeat("x", agui.MaxHistory)+`"}`); resp.StatusCode != 413 {
		t.Errorf("a large body: got %d, want 413", resp.StatusCode)
	}
	if resp, got := do(t, "GET", url+"?last_event_id=4", ""); resp.StatusCode != 400 || !strings.Contains(got, "the cursor of another log") {
		t.Errorf("a cursor: got %d %s, want 400", resp.StatusCode, got)
	}
	if resp, _ := do(t, "DELETE", url, ""); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, HEAD, POST, OPTIONS" {
		t.Errorf("DELETE: got %d %q, want 405", resp.StatusCode, resp.Header.Get("Allow"))
	}
}
