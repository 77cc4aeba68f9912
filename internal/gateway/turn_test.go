package gateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// folded is a session whose inputs are folded into the log of a store.
type folded struct {
	t     testing.TB
	store *memory
	state session.State
	seq   uint64
}

// add folds an input and returns its sequence.
func (f *folded) add(kind inputs.Kind, data string) uint64 {
	f.t.Helper()
	f.seq++
	for _, e := range session.Fold(nil, &f.state, session.Input{Input: inputs.Input{
		Seq: f.seq, At: at, Token: "s", Kind: kind, Data: []byte(data),
	}}) {
		body, err := e.Body()
		if err != nil {
			f.t.Fatal(err)
		}
		for _, b := range e.Blobs {
			f.store.blobs[b.Ref.SHA256] = b.Data
		}
		f.store.put("s", events.Record{Type: e.Type, ID: e.EventID, Call: e.Call, Data: body})
	}
	return f.seq
}

// message folds a message of the model and returns the sequence of its first input.
func (f *folded) message(id, text, calls string) uint64 {
	first := f.add(inputs.Delta, `{"id":"`+id+`","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`+text+`"`+calls+`},"finish_reason":null}]}`)
	f.add(inputs.Delta, `{"id":"`+id+`","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	f.add(inputs.Clock, `{"kind":"flush"}`)
	return first
}

const oneCall = `,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{}"}}]`

// chunks reads the chunks of a stream in the protocol ai-sdk.
type chunks struct {
	t testing.TB
	r *bufio.Reader
}

func openChunks(t testing.TB, url string) chunks {
	t.Helper()
	resp := start(t, "GET", url, "")
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: got %d %s", url, resp.StatusCode, b)
	}
	return chunks{t, bufio.NewReader(resp.Body)}
}

// next returns the next chunk as "type id", "[DONE]", or the error of reading.
func (c chunks) next() string {
	c.t.Helper()
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		var in struct{ Type, MessageID, ToolCallID, Delta, FinishReason string }
		if json.Unmarshal([]byte(data), &in) != nil {
			return data
		}
		return strings.TrimSpace(in.Type + " " + in.MessageID + in.ToolCallID + in.Delta + in.FinishReason)
	}
}

// want reads the chunks that are named, and fails on others.
func (c chunks) want(list ...string) {
	c.t.Helper()
	for _, w := range list {
		if got := c.next(); got != w {
			c.t.Fatalf("got chunk %q, want %q", got, w)
		}
	}
}

// answer returns the chunks of a text of one delta.
func answer(text string) []string {
	return []string{"start-step", "text-start", "text-delta " + text, "text-end", "finish-step", "finish stop", "[DONE]", "EOF"}
}

// TestLastTurn checks that a client that lacks the last run gets it from its start, and the
// end of the body after it, and that any other client is answered that no run is open.
func TestLastTurn(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	url := serve(t, Options{}, store)
	f.message("m1", "one", "")
	f.message("m2", "two", "")
	all := itoa(len(store.log))
	for _, path := range []string{"/v1/ai-sdk/s/stream?", "/v1/sessions/s/events?protocol=ai-sdk&"} {
		for _, query := range []string{"", "last_event_id=" + all} {
			if resp, body := do(t, "GET", url+path+query, ""); resp.StatusCode != 204 || body != "" {
				t.Errorf("%s%s without an open run: got %d %q, want 204", path, query, resp.StatusCode, body)
			}
		}
		for _, query := range []string{"last_event_id=0", "last_event_id=" + itoa(len(store.log)-1), "after=4"} {
			openChunks(t, url+path+query).want(append([]string{"start m2"}, answer("two")...)...)
		}
	}
	resp := start(t, "GET", url+"/v1/ai-sdk/s/stream?after=1", "")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "X-Vercel-Ai-Ui-Message-Stream": "v1", "X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-transform",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("header %s: got %q, want %q", name, got, want)
		}
	}
}

// TestLiveTurn checks that a client of an open run gets its events as they come, and
// its end.
func TestLiveTurn(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m1", "Look:", oneCall)
	c := openChunks(t, serve(t, Options{}, store)+"/v1/ai-sdk/s/stream")
	c.want("start m1", "start-step", "text-start", "tool-input-start call_a")
	for c.next() != "text-end" {
	}
	f.add(inputs.Result, `{"tool_call_id":"call_a","content":"1"}`)
	c.want("tool-output-available call_a")
	f.message("m2", "done", "")
	c.want(append([]string{"finish-step"}, answer("done")...)...)
}

// TestContinuedTurn checks which runs a client gets as one message.
func TestContinuedTurn(t *testing.T) {
	const human = `{"type":"human","content":"no","id":"h1"}`
	for name, c := range map[string]struct {
		first string // kind of the end of the first run
		then  func(f *folded)
		joins bool
	}{
		"the frontend answers": {`{}`, func(f *folded) { f.add(inputs.Result, `{"tool_call_id":"call_a","content":"yes"}`) }, true},
		"a tool fails":         {`{}`, func(f *folded) { f.add(inputs.Result, `{"tool_call_id":"call_a","content":"x","status":"error"}`) }, true},
		"no answer":            {`{}`, func(f *folded) {}, false},
		"a stop":               {`{}`, func(f *folded) { f.add(inputs.Interrupt, `{"tool_call_ids":["call_a"]}`) }, false},
		"a new message":        {`{}`, func(f *folded) { f.add(inputs.Delta, human) }, false},
		"the run failed":       {`{"reason":"error"}`, func(f *folded) { f.add(inputs.Result, `{"tool_call_id":"call_a","content":"yes"}`) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMemory()
			f := &folded{t: t, store: store}
			f.message("m1", "one", oneCall)
			f.add(inputs.End, c.first)
			c.then(f)
			second := f.message("m2", "two", "")
			f.add(inputs.End, `{}`) // an open call keeps the run open
			s := openChunks(t, serve(t, Options{}, store)+"/v1/ai-sdk/s/stream?after="+itoa(int(second)))
			want := "start m2"
			if c.joins {
				want = "start m1"
			}
			if got := s.next(); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
			var rest []string
			for len(rest) == 0 || rest[len(rest)-1] != "EOF" {
				rest = append(rest, s.next())
			}
			if got := slices.Contains(rest, "tool-input-start call_a"); got != c.joins || slices.Contains(rest, "text-delta one") != c.joins {
				t.Errorf("%s: the first run is shown: %v, want %v: %q", name, got, c.joins, rest)
			}
			if !slices.Contains(rest, "text-delta two") || rest[len(rest)-2] != "[DONE]" {
				t.Errorf("%s: got %q, want the second run and [DONE]", name, rest)
			}
		})
	}
}

// TestDeniedTurn checks that a run after a denial continues the message that asked, whose id
// both have on the wire.
func TestDeniedTurn(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	add := func(parts ...string) {
		for _, p := range parts {
			f.add(inputs.Delta, p)
		}
	}
	add(`{"type":"start","messageId":"m"}`, `{"type":"start-step"}`, `{"type":"tool-input-available","toolCallId":"c1","toolName":"f","input":{}}`,
		`{"type":"tool-approval-request","toolCallId":"c1","approvalId":"p1"}`, `{"type":"finish-step"}`, `{"type":"finish","finishReason":"tool-calls"}`)
	f.add(inputs.Answer, `{"interrupt_id":"p1","decision":"deny"}`)
	add(`{"type":"start","messageId":"m"}`, `{"type":"tool-output-denied","toolCallId":"c1"}`, `{"type":"start-step"}`, `{"type":"text-start","id":"0"}`,
		`{"type":"text-delta","id":"0","delta":"Well."}`, `{"type":"text-end","id":"0"}`, `{"type":"finish-step"}`, `{"type":"finish","finishReason":"stop"}`)
	url := serve(t, Options{}, store)
	_, body := do(t, "GET", url+"/v1/ai-sdk/s/stream?last_event_id=0", "")
	for _, want := range []string{`"messageId":"m"`, `"tool-output-denied"`, `"delta":"Well."`} {
		if strings.Count(body, want) != 1 {
			t.Errorf("%s is not there once:\n%s", want, body)
		}
	}
	if ids, p := readMessages(t, url+"/v1/sessions/s/messages"); !slices.Equal(ids, []string{"m"}) || !strings.Contains(string(p.Messages[0]), `"state":"output-denied"`) {
		t.Errorf("messages: got %q %s", ids, p.Messages)
	}
}

// TestTurnAfter checks that a client that names an input waits for its run.
func TestTurnAfter(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	url := serve(t, Options{}, store) + "/v1/ai-sdk/s/stream?after="
	first := openChunks(t, url+"1")
	f.message("m1", "one", "")
	first.want(append([]string{"start m1"}, answer("one")...)...)
	next := openChunks(t, url+"4") // the run of input 1 ended with input 3
	openChunks(t, url+"3").want("start m1")
	f.message("m2", "two", "")
	next.want(append([]string{"start m2"}, answer("two")...)...)
}

// TestNextTurn checks that a client can wait for the next run, whose stream then begins the
// answer, and that it is answered that there is none when a heartbeat would be due.
func TestNextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		f := &folded{t: t, store: store}
		stop := running(t, build(t, Options{Heartbeat: 15 * time.Second}, store), ln)
		get := func() (answered chan string) {
			conn, answered := ln.dial(t), make(chan string, 1)
			io.WriteString(conn, "GET /v1/ai-sdk/s/stream?wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
			go func() {
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					answered <- err.Error()
					return
				}
				body, err := io.ReadAll(resp.Body)
				answered <- fmt.Sprint(resp.StatusCode, " ", string(body), err)
			}()
			return answered
		}
		f.message("m1", "one", "")
		if got := <-get(); !strings.HasPrefix(got, "204") {
			t.Errorf("no run: got %s, want 204", got)
		}
		next := get()
		synctest.Wait()
		select {
		case got := <-next:
			t.Errorf("answered before the run: %s", got)
		default:
		}
		f.message("m2", "two", "")
		if got := <-next; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"messageId":"m2"`) || !strings.Contains(got, "[DONE]") || strings.Contains(got, "m1") {
			t.Errorf("got %s, want the run m2", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestMessageIDs checks that a message has the id of the input, unless an earlier message of
// the session has it: the client would replace that.
func TestMessageIDs(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	url := serve(t, Options{}, store)
	f.message("m1", "one", "")
	f.message("m1", "two", "")
	openChunks(t, url+"/v1/ai-sdk/s/stream?after=4").want("start 4.0")
	openChunks(t, url+"/v1/ag-ui/s").want("RUN_STARTED", "TEXT_MESSAGE_START msg_4.1")
}

// TestRefusedTurns checks the answers to parameters that a turn does not have.
func TestRefusedTurns(t *testing.T) {
	url := serve(t, Options{}, newMemory())
	for path, want := range map[string]string{
		"/v1/ai-sdk/s/stream?types=rejected":                                   "types is not possible with protocol ai-sdk",
		"/v1/sessions/s/events?protocol=ai-sdk&last_event_id=4":                "the cursor of another log",
		"/v1/ai-sdk/s/stream?last_event_id=x":                                  "not the id of an event",
		"/v1/ai-sdk/s/stream?after=x":                                          "not the sequence of an input",
		"/v1/ai-sdk/s/stream?after=0":                                          "not the sequence of an input",
		"/v1/ai-sdk/%ff/stream":                                                "not UTF-8",
		"/v1/ai-sdk/" + strings.Repeat("s", 257) + "/stream":                   "longer than 256",
		"/v1/sessions/" + strings.Repeat("s", 257) + "/events?protocol=ai-sdk": "longer than 256",
	} {
		t.Run(fmt.Sprintf("%.60s", path), func(t *testing.T) {
			if resp, body := do(t, "GET", url+path, ""); resp.StatusCode != 400 || !strings.Contains(body, want) {
				t.Errorf("%s: got %d %s, want 400 with %q", path, resp.StatusCode, body, want)
			}
		})
	}
	if resp, _ := do(t, "POST", url+"/v1/ai-sdk/s/stream", ""); resp.StatusCode != 405 {
		t.Errorf("POST: got %d, want 405", resp.StatusCode)
	}
}

// TestTurnIsCutOff checks that a server that stops, or cannot read the log, cuts off a
// stream: a client would take an orderly end for the end of the run.
func TestTurnIsCutOff(t *testing.T) {
	store := newMemory()
	(&folded{t: t, store: store}).message("m1", "Look:", oneCall)
	url := serve(t, Options{}, store) + "/v1/ai-sdk/s/stream"
	c := openChunks(t, url)
	for c.next() != "text-end" {
	}
	store.breakDown()
	if got := c.next(); got != io.ErrUnexpectedEOF.Error() {
		t.Errorf("end of the body: got %s, want %v", got, io.ErrUnexpectedEOF)
	}
	if resp, body := do(t, "GET", url, ""); resp.StatusCode != 503 || strings.Contains(body, "disk") {
		t.Errorf("got %d %s, want 503 without the cause", resp.StatusCode, body)
	}
}

// TestShutdownCutsTurnsOff checks that a shutdown ends with all streams counted.
func TestShutdownCutsTurnsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		(&folded{t: t, store: store}).message("m1", "Look:", oneCall)
		stop := running(t, build(t, Options{}, store), ln)
		conn := ln.dial(t)
		io.WriteString(conn, "GET /v1/ai-sdk/s/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		ended := make(chan error)
		go func() { _, err := io.ReadAll(resp.Body); ended <- err }()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("end of the body: got %v, want %v", err, io.ErrUnexpectedEOF)
		}
	})
}

// TestLargeValuesInline checks that large args and results are whole in a protocol
// without references, and that one that is gone is replaced.
func TestLargeValuesInline(t *testing.T) {
	large := strings.Repeat("long ", 20_000)
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m1", "Look:", strings.Replace(oneCall, `"{}"`, `"{\"a\":\"`+large+`\"}"`, 1))
	f.add(inputs.Result, `{"tool_call_id":"call_a","content":{"b":"`+large+`"}}`)
	f.add(inputs.End, `{}`)
	url := serve(t, Options{}, store) + "/v1/ai-sdk/s/stream?after=1"
	_, body := do(t, "GET", url, "")
	for _, want := range []string{`"input":{"a":"` + large + `"}`, `"output":{"b":"` + large + `"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("%.40s… is missing in %d bytes", want, len(body))
		}
	}
	clear(store.blobs)
	if _, body = do(t, "GET", url, ""); !strings.Contains(body, `"output":"{\"b\":\"long long`) || !strings.Contains(body, "(100008 bytes, no longer stored)") {
		t.Errorf("without the values: got %.1000s", body[max(0, len(body)-1000):])
	}
}
