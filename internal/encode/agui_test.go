package encode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/events"
)

// agHistory is what a client has before a stream.
var agHistory = []json.RawMessage{
	json.RawMessage(`{"id":"own-u1","role":"user","content":"go"}`),
	json.RawMessage(`{"id":"own-a1","role":"assistant","content":"gone"}`),
	json.RawMessage(`{"id":"own-r1","role":"reasoning","content":"why"}`),
}

// checkAGTurn checks the streams of clients that connect at different times, and of
// those that connect again after part of the stream: what a client shows does not
// depend on how much of the stream it has. It returns the number of calls.
func checkAGTurn(t *testing.T, name string, u turnOf) int {
	t.Helper()
	b, _ := u.encodeFor(t, &Client{Messages: agHistory}, len(u.log))
	late, err := reduceAG(b, agHistory)
	if err != nil {
		t.Fatalf("%s, after its end: %v\n%s", name, err, b)
	}
	if open := late.open(); open > u.open() {
		t.Errorf("%s: %d calls are open, of which %d have no end in the log\n%s", name, open, u.open(), b)
	}
	u = u.ended()
	odd := replacedArgs(t, u.log)
	var want string
	calls := 0
	history := agHistory
	for _, stored := range []int{len(u.log), len(u.log) / 2, 0} {
		b, done := u.encodeFor(t, &Client{Messages: history}, stored)
		m, err := reduceAG(b, history)
		if err != nil {
			t.Fatalf("%s, %d of %d events stored: %v\n%s", name, stored, len(u.log), err, b)
		}
		if done != finishes(t, u) || done != (m.ended != "") {
			t.Errorf("%s: the stream is complete: %v\n%s", name, done, b)
		}
		got := m.String()
		if want == "" {
			want, calls = got, len(m.calls)
		}
		if got != want && len(odd) == 0 {
			t.Errorf("%s, %d of %d events stored: got\n%s\nwant\n%s", name, stored, len(u.log), got, want)
		}
		history = m.history()
		if stored > 0 { // the next client has a part of this stream
			part := bytes.SplitAfter(b, []byte("\n\n"))
			cut, err := reduceAG(bytes.Join(part[:len(part)*2/3], nil), agHistory)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			history = cut.history()
		}
	}
	return calls
}

// encodeFor returns the stream of a turn for a client, as encode does.
func (u *turnOf) encodeFor(t testing.TB, client *Client, stored int) ([]byte, bool) {
	enc := open(t, "ag-ui")
	b := enc.Open(nil, Opening{Session: "s", Run: u.run, Client: client, Earlier: u.earlier, Stored: u.stored})
	for i, r := range u.log {
		if i == stored {
			b = enc.Live(b, r.Seq)
		}
		if b = u.encodeEvent(b, enc, i); enc.Done() {
			return b, true
		}
	}
	b = enc.Live(b, 0)
	return b, enc.Done()
}

// TestAGReducerFinds checks that each rule of the client finds its offence.
func TestAGReducerFinds(t *testing.T) {
	const (
		start = `{"type":"RUN_STARTED","threadId":"s","runId":"r"}|`
		call  = `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m","metadata":{"streamer":{}}}|`
		args  = `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}|`
		whole = call + args + `{"type":"TOOL_CALL_END","toolCallId":"c"}|`
		ended = `{"type":"TOOL_CALL_RESULT","toolCallId":"c","messageId":"x","content":"","role":"tool","metadata":{"streamer":{}}}|`
		end   = `{"type":"RUN_FINISHED","threadId":"s","runId":"r","outcome":{"type":"success"}}`
		text  = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}|`
		agent = `{"type":"SUBAGENT_STARTED","subagentRunId":"a","name":"f"}|`
		left  = `{"type":"SUBAGENT_FINISHED","subagentRunId":"a"}|`
	)
	for _, c := range []struct{ stream, want string }{
		{start + whole + ended + end, ""},
		{start + whole + strings.Replace(end, `"success"`, `"success","pendingToolCallIds":["c"]`, 1), ""},
		{start + whole + strings.Replace(end, `"success"`, `"interrupt","interrupts":[{"id":"i","reason":"x"}]`, 1), ""},
		{start + whole + strings.Replace(end, `"success"`, `"interrupt","interrupts":[]`, 1), "no interrupts"},
		{start + whole + strings.Replace(end, `success`, `cancelled`, 1), "have no result"},
		{start + strings.Replace(end, `success`, `failed`, 1), "unknown outcome"},
		{start + whole + `{"type":"RUN_ERROR","message":"x"}`, "have no result"},
		{start + call + `{"type":"RUN_ERROR","message":"x","code":"stream_shutdown"}`, ""},
		{end, "RUN_STARTED must be"},
		{start + start + end, "RUN_STARTED must be"},
		{start + end + "|" + text, "after RUN_FINISHED"},
		{start + args + end, "known: false"},
		{start + whole + call + end, "known: true"},
		{start + whole + args + end, "the args have ended"},
		{start + call + ended + end, "args are open"},
		{start + call + end, "the args of c are open"},
		{start + ended + end, "known: false"},
		{start + whole + end, "have no result"},
		{start + whole + ended + ended + end, "result 2"},
		{start + call + `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{"}|{"type":"TOOL_CALL_END","toolCallId":"c"}|` + end, "not JSON"},
		{start + agent + left + end, ""},
		{start + agent + end, "the subagent a is open"},
		{start + agent + left + agent + end, "known: true"},
		{start + left + end, "the subagent is not open"},
		{start + strings.Replace(agent, `"name"`, `"parentSubagentRunId":"b","name"`, 1) + end, "around it has not started"},
		{start + strings.Replace(text, `}`, `,"subagentRunId":"a"}`, 1) + end, "has not started"},
		{start + agent + text + strings.Replace(call, `"metadata"`, `"subagentRunId":"a","metadata"`, 1) + end, "does not match the owner"},
		{start + text + end, "are open"},
		{start + text + text + end, "open: true"},
		{start + `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, "open: false"},
		{start + `{"type":"REASONING_START","messageId":"m"}|` + end, "are open"},
		{start + `{"type":"REASONING_MESSAGE_START","messageId":"m","role":"reasoning"}|` + end, "span is not open"},
		{start + `{"type":"TOOL_CALL_CANCELLED","toolCallId":"c"}|` + end, "known: false"},
		{start + `{"type":"CANCELLED"}|` + end, "unknown type"},
		{start + strings.Replace(text, `}`, `,"seq":1}`, 1) + end, "unknown field"},
		{start + strings.Replace(text, `}`, `,"metadata":null}`, 1) + end, "is null"},
		{start + text + `{"type":"MESSAGES_SNAPSHOT","messages":[]}|` + end, "a snapshot drops"},
		{`[DONE]`, "invalid character"},
	} {
		t.Run(fmt.Sprintf("%.60s", c.stream), func(t *testing.T) {
			var b bytes.Buffer
			for data := range strings.SplitSeq(strings.TrimSuffix(c.stream, "|"), "|") {
				fmt.Fprintf(&b, "data: %s\n\n", data)
			}
			_, err := reduceAG(b.Bytes(), nil)
			if got := fmt.Sprint(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) && c.want != "" {
				t.Errorf("%s\ngot %v, want %q", c.stream, err, c.want)
			}
		})
	}
}

// agDeltas returns the args of a call in a stream.
func agDeltas(b []byte) string {
	var args string
	for f := range strings.SplitSeq(string(b), "\n\n") {
		var e struct{ Type, Delta string }
		if data, ok := strings.CutPrefix(f, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil && e.Type == "TOOL_CALL_ARGS" {
			args += e.Delta
		}
	}
	return args
}

// TestAGArgs checks the args of a call whose args are incomplete, invalid or replaced:
// a client that parses them gets JSON, and the metadata has what the model wrote.
func TestAGArgs(t *testing.T) {
	call := events.Event{Type: events.ToolCallStart, Call: "1.0"}
	custom := events.Event{Type: events.ToolCallStart, Call: "1.0", Kind: "custom"}
	stopped := events.Event{Type: events.ToolCallResult, Call: "1.0", Status: events.Cancelled, Reason: &events.Reason{Code: events.ByInterrupt, Text: "stopped"}}
	invalid := func(text string) events.Event {
		valid := false
		return events.Event{Type: events.ToolCallArgsComplete, Call: "1.0", ArgsText: &text, ArgsValid: &valid}
	}
	for name, c := range map[string]struct {
		list []events.Event
		want string // args
		meta string
	}{
		"nothing":         {[]events.Event{call}, "{}", `"argsIncomplete":true`},
		"cut":             {[]events.Event{call, argsDelta("1.0", 0, `{"q":["cu`)}, `{"q":["cu"]}`, `"argsIncomplete":true`},
		"whole, no end":   {[]events.Event{call, argsDelta("1.0", 0, `{"q":1}`)}, `{"q":1}`, ""},
		"not an object":   {[]events.Event{call, argsDelta("1.0", 0, `"{\"q\"`)}, "{}", `"argsIncomplete":true`},
		"invalid":         {[]events.Event{call, argsDelta("1.0", 0, `{"q":oops`), invalid(`{"q":oops}`)}, `{"q":null}`, `"argsIncomplete":true,"args":"{\"q\":oops}"`},
		"invalid, whole":  {[]events.Event{call, invalid(`{"q":oops}`)}, `{"q":null}`, `"argsIncomplete":true,"args":"{\"q\":oops}"`},
		"trailing":        {[]events.Event{call, argsDelta("1.0", 0, `{"q":1} x`), invalid(`{"q":1} x`)}, `{"q":1} `, `"args":"{\"q\":1} x"`},
		"not JSON at all": {[]events.Event{call, argsDelta("1.0", 0, `oops`), invalid(`oops`)}, `{}`, `"argsIncomplete":true,"args":"oops"`},
		"text":            {[]events.Event{custom, argsDelta("1.0", 0, "a \""), argsDelta("1.0", 3, "b\n"), argsComplete2("1.0", "a \"b\n")}, `"a \"b\n"`, ""},
		"no text":         {[]events.Event{custom, argsComplete2("1.0", "")}, `""`, ""},
		"text, cut":       {[]events.Event{custom, argsDelta("1.0", 0, "a")}, `"a"`, `"argsIncomplete":true`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, stored := range []int{len(c.list) + 3, 0} {
				u := turnOfEvents(t, append(c.list, stopped)...)
				b, _ := u.encodeFor(t, nil, stored)
				if got := agDeltas(b); got != c.want {
					t.Errorf("%s: got %q, want %q", name, got, c.want)
				}
				_, end, _ := strings.Cut(string(b), `"TOOL_CALL_END"`)
				if end, _, _ = strings.Cut(end, "\n"); !strings.Contains(end, c.meta) || c.meta == "" && strings.Contains(end, "args") {
					t.Errorf("%s: got end %s, want it with %s", name, end, c.meta)
				}
				if _, err := reduceAG(b, nil); err != nil {
					t.Errorf("%s: %v\n%s", name, err, b)
				}
			}
		})
	}
}

// argsComplete2 returns the end of args that are free text.
func argsComplete2(call, text string) events.Event {
	valid := true
	return events.Event{Type: events.ToolCallArgsComplete, Call: call, ArgsText: &text, ArgsValid: &valid}
}

// TestAGReplacedArgs checks args of which a delta replaces earlier ones that a client
// has: the metadata of the call has the right args, and a later client gets only those.
func TestAGReplacedArgs(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.ToolCallStart, Call: "1.0"},
		argsDelta("1.0", 0, `{"x":`), argsDelta("1.0", 2, `y":`), argsDelta("1.0", 5, "1}"), argsComplete("1.0", `{"y":1}`))
	for stored, want := range map[int]string{len(u.log): `{"y":1}`, 0: `{"x":null}`} {
		t.Run(fmt.Sprint(stored), func(t *testing.T) {
			b, _ := u.encodeFor(t, nil, stored)
			if got := agDeltas(b); got != want {
				t.Errorf("%d events stored: got %q, want %q", stored, got, want)
			}
			if has := strings.Contains(string(b), `"args":"{\"y\":1}"`); has != (stored == 0) {
				t.Errorf("%d events stored: the metadata has the args: %v\n%s", stored, has, b)
			}
		})
	}
}

// TestAGHumanMessage checks that a message of a user is shown, unless the client has
// it, and that other messages for the model are not shown.
func TestAGHumanMessage(t *testing.T) {
	u := turnOfEvents(t,
		events.Event{Type: events.HumanMessage, By: "h", Offset: events.OffsetAt(0), Content: "as"},
		events.Event{Type: events.HumanMessage, By: "h", Offset: events.OffsetAt(2), Content: "ked"},
		events.Event{Type: events.MessageStarted, By: "y", Role: "system"},
		events.Event{Type: events.AgentResponseChunk, By: "y", Kind: "text", Content: "obey"},
		events.Event{Type: events.MessageFinished, By: "y", Role: "system"},
		events.Event{Type: events.AgentResponseChunk, Kind: "text", Content: "answer"})
	for history, sent := range map[string]string{
		``: "asked",
		`{"id":"u","role":"user","content":"other"}`:                          "asked",
		`{"id":"u","role":"user","content":"asked"}`:                          "",
		`{"id":"h","role":"user","content":"?"}`:                              "",
		`{"id":"h","role":"user","content":"as"}`:                             "ked", // its stream was cut off
		`{"id":"u","role":"user","content":[{"type":"text","text":"asked"}]}`: "",
	} {
		t.Run(history, func(t *testing.T) {
			var messages []json.RawMessage
			if history != "" {
				messages = append(messages, json.RawMessage(history))
			}
			b, _ := u.encodeFor(t, &Client{Messages: messages}, 0)
			m, err := reduceAG(b, messages)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(b), `"messageId":"h","delta":"`+sent+`"`); got != (sent != "") || strings.Contains(string(b), "obey") {
				t.Errorf("%s: sent: %v, want %q\n%s", history, got, sent, b)
			}
			if s := m.find("h"); s != nil && s.text() != "asked" && s.text() != "?" {
				t.Errorf("%s: got %s", history, m)
			}
		})
	}
}

// TestAGEnd checks the end of a stream that the server ends, and one whose last events
// cannot be read.
func TestAGEnd(t *testing.T) {
	enc := open(t, "ag-ui")
	if b := enc.End(enc.Open(nil, Opening{Session: "s"}), Shutdown); !strings.HasSuffix(string(b), `"code":"stream_shutdown"}`+"\n\n") {
		t.Errorf("got %s", b)
	} else if _, err := reduceAG(b, nil); err != nil {
		t.Error(err)
	}
	u := turnOfEvents(t,
		events.Event{Type: events.ToolCallStart, Call: "1.0"},
		events.Event{Type: events.ToolCallResult, Call: "1.0"}, events.Event{Type: events.RunFinished})
	for i := range u.log[len(u.log)-2:] {
		u.log[len(u.log)-1-i].Data = []byte("{")
	}
	u.run = "r"
	b, done := u.encodeFor(t, nil, 0)
	if _, err := reduceAG(b, nil); err != nil || !done {
		t.Errorf("complete: %v, %v\n%s", done, err, b)
	}
}

// TestAGCuts checks that a client whose connection is cut after any frame, and that
// posts the history that it has then, ends with what a client without a cut has. Of
// deltas in a row, a cut after the first and the last is checked.
func TestAGCuts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/ag-ui/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	cuts := 0
	for _, file := range scripts {
		turns := scriptLog(t, file).turns()
		for _, u := range turns {
			cuts += checkAGCuts(t, file, u)
		}
	}
	t.Logf("%d cuts", cuts)
	if cuts < 300 {
		t.Errorf("checked %d cuts: too few", cuts)
	}
}

// checkAGCuts checks a turn with cuts after its frames, and returns their number.
func checkAGCuts(t *testing.T, name string, u turnOf) (cuts int) {
	t.Helper()
	live, _ := u.encodeFor(t, &Client{Messages: agHistory}, 0)
	frames := strings.SplitAfter(strings.TrimSuffix(string(live), "\n\n"), "\n\n")
	whole, err := reduceAG(live, agHistory)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	want, cut := whole.String(), newAGReducer()
	if err := cut.snapshot(agHistory); err != nil {
		t.Fatal(err)
	}
	for i, f := range frames[:len(frames)-1] {
		if err := cut.frame(strings.TrimSuffix(f, "\n\n")); err != nil {
			t.Fatal(err)
		}
		if i > 0 && agFrameType(f) == agFrameType(frames[i-1]) && agFrameType(f) == agFrameType(frames[i+1]) {
			continue
		}
		cuts++
		history := cut.history()
		b, _ := u.encodeFor(t, &Client{Messages: history}, len(u.log)*i/len(frames))
		m, err := reduceAG(b, history)
		if err != nil {
			t.Fatalf("%s, cut after %d of %d frames: %v\n%s", name, i+1, len(frames), err, b)
		}
		if got := m.String(); got != want {
			t.Fatalf("%s, cut after %d of %d frames: got\n%s\nwant\n%s", name, i+1, len(frames), got, want)
		}
	}
	return cuts
}

// agFrameType returns the beginning of a frame, with its type.
func agFrameType(frame string) string {
	kind, _, _ := strings.Cut(frame, ",")
	return kind
}
