package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"

	"github.com/coder/websocket"
)

// thread is a WebSocket of a client of LangGraph.
type thread struct {
	t testing.TB
	*websocket.Conn
}

// openThread opens the WebSocket of the session s.
func openThread(t testing.TB, url string, header http.Header) thread {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), url+threadPath+"/stream/events", &websocket.DialOptions{HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(1 << 20)
	return thread{t, c}
}

// send sends a command.
func (s thread) send(command string) {
	s.t.Helper()
	if err := s.Write(s.t.Context(), websocket.MessageText, []byte(command)); err != nil {
		s.t.Fatal(err)
	}
}

// until returns the first message that contains a text.
func (s thread) until(text string) string {
	s.t.Helper()
	for {
		_, message, err := s.Read(s.t.Context())
		if err != nil {
			s.t.Fatalf("no message with %q: %v", text, err)
		}
		if !json.Valid(message) {
			s.t.Fatalf("no JSON: %s", message)
		}
		if strings.Contains(string(message), text) {
			return string(message)
		}
	}
}

// TestThreadSocket checks that a socket has the events of its subscriptions, stores answers,
// and answers each command.
func TestThreadSocket(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m1", "one", "")
	s := openThread(t, serve(t, Options{Heartbeat: time.Millisecond}, store), nil)
	for i, c := range []struct{ command, want string }{
		{`"method":"run.start","params":{}`, `"error":"invalid_argument","message":"the command \"run.start\" is for an agent`},
		{`"params":{}`, `"error":"invalid_argument","message":"the body is not a command`},
		{`"method":"subscription.subscribe","params":{"channels":[]}`, `"error":"invalid_argument","message":"channels is empty`},
		{`"method":"subscription.unsubscribe","params":{"subscription_id":"9"}`, `"error":"no_such_subscription"`},
		{`"method":"input.respond","params":{"interrupt_id":"i"}`, `"error":"invalid_argument","message":"the command has no answer`},
		{`"method":"input.respond","params":{"interrupt_id":"i","response":true}`, `"type":"success"`},
		{`"method":"subscription.subscribe","params":{"channels":["messages"]}`, `"result":{"subscription_id":"1"}`},
	} {
		s.send(fmt.Sprintf(`{"id":%d,%s}`, i, c.command))
		if got := s.until(fmt.Sprintf(`"id":%d,`, i)); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.command, got, c.want)
		}
	}
	if n := len(store.inputs); n != 1 || store.inputs[0].kind != inputs.Answer {
		t.Errorf("got %+v, want one answer", store.inputs)
	}
	f.message("m2", "two", "")
	s.until(`"two"`)
	s.send(`{"id":20,"method":"subscription.subscribe","params":{"channels":["lifecycle"],"since":5}}`)
	s.until(`"one"`) // all of the messages again
	s.until(`"completed"`)
	s.send(`{"id":21,"method":"subscription.unsubscribe","params":{"subscription_id":"1"}}`)
	s.until(`"id":21,"result":{}`)
	s.send("[")
	s.until(`"type":"error","id":null`)
	s.send(`{"id":22,"method":"subscription.subscribe","params":{"channels":["tools"],"since":900}}`)
	s.send(`{"id":23,"method":"subscription.unsubscribe","params":{"subscription_id":"2"}}`)
	for err := error(nil); ; {
		if _, _, err = s.Read(t.Context()); err != nil {
			if got := websocket.CloseStatus(err); got != 4400 {
				t.Errorf("got the end %v, want the status 4400 of a cursor of another log", err)
			}
			return
		}
	}
}

// TestThreadSocketEnds checks that a socket is closed with a stream, and that the server waits
// for one without any.
func TestThreadSocketEnds(t *testing.T) {
	store := newMemory()
	(&folded{t: t, store: store}).message("m1", "one", "")
	g := build(t, Options{}, store)
	url := serveHandler(t, g)
	with, without := openThread(t, url, nil), openThread(t, url, nil)
	with.send(`{"id":1,"method":"subscription.subscribe","params":{"channels":["messages"]}}`)
	with.until(`"one"`)
	if n := g.streams.count(); n != 3 {
		t.Errorf("%d streams, want 2 sockets and a stream", n)
	}
	empty := g.streams.drain(1)
	for _, s := range []thread{with, without} {
		for err := error(nil); err == nil; {
			_, _, err = s.Read(t.Context())
		}
	}
	<-empty
}

// TestThreadSocketRights checks that watching does not permit to answer.
func TestThreadSocketRights(t *testing.T) {
	store := newMemory()
	url := serve(t, withTokens(t), store)
	token := strings.TrimPrefix(bearer(t, `{"watch":["s"]}`), "Authorization: ")
	s := openThread(t, url, http.Header{"Authorization": {token}})
	s.send(`{"id":1,"method":"input.respond","params":{"interrupt_id":"i","response":true}}`)
	if got := s.until(`"id":1,`); !strings.Contains(got, `"error":"permission_denied"`) || len(store.inputs) > 0 {
		t.Errorf("got %s, and the inputs %+v", got, store.inputs)
	}
	if resp, body := do(t, "GET", url+threadPath+"/stream/events", "", "Authorization: "+token); resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("without a handshake: got %d %s, want 426", resp.StatusCode, body)
	}
}
