package langgraph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/encode"
	"streamer/internal/gateway/replies"
	"streamer/internal/gateway/respond"

	"github.com/coder/websocket"
)

// socket is the WebSocket of a client of the agent protocol, which sends commands:
//
//	{"id":1,"method":"subscription.subscribe","params":{"channels":["messages"]}}
//	{"id":2,"method":"subscription.unsubscribe","params":{"subscription_id":"1"}}
//	{"id":3,"method":"input.respond","params":{"interrupt_id":"i","response":{}}}
//
// Each is answered {"type":"success","id","result"} or {"type":"error","id","error","message"}.
// A subscription gets the history and then new events, whose event_id tells the client which of
// them it has. The socket is closed with any of its streams; the client then connects again.
// https://github.com/langchain-ai/agent-protocol
type socket struct {
	server
	conn *websocket.Conn
	r    *http.Request // of the handshake; its context ends with the socket
	end  context.CancelCauseFunc

	subscriptions map[string]context.CancelFunc
	last          int // number of the last subscription
	streams       sync.WaitGroup
	thrown        atomic.Pointer[any] // panic of a stream
}

// socket serves a WebSocket until the client closes it, or a stream ends.
func (s server) socket(w http.ResponseWriter, r *http.Request) error {
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	leave, err := s.Hold(w, r, end)
	if err != nil {
		return err
	}
	defer leave()
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return respond.Refuse(http.StatusUpgradeRequired, "GET needs a WebSocket here; POST streams the events over HTTP")
	}
	// The gateway has checked the origin.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // Accept has answered
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(MaxFilter)
	c := &socket{server: s, conn: conn, r: r.WithContext(ctx), end: end, subscriptions: map[string]context.CancelFunc{}}
	for err == nil {
		err = c.next(ctx)
	}
	end(nil)
	c.streams.Wait()
	if p := c.thrown.Load(); p != nil {
		panic(*p) // net/http logs it
	}
	return nil
}

// reply is the answer to a command.
type reply struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Message string          `json:"message,omitempty"`
}

// next reads a command, and answers it.
func (c *socket) next(ctx context.Context) error {
	_, body, err := c.conn.Read(ctx)
	if err != nil {
		return err
	}
	id, method, list := replies.LangGraph(body)
	a := reply{Type: "success", ID: id, Result: struct{}{}}
	switch method {
	case "subscription.subscribe":
		a.Result, err = c.subscribe(body)
	case "subscription.unsubscribe":
		err = c.unsubscribe(body)
	default:
		err = c.respond(&frames{header: http.Header{}}, c.r, method, list)
	}
	if err != nil {
		a = reply{Type: "error", ID: id, Error: "unknown_error", Message: "the logs cannot be reached; try again"}
		if ref, ok := errors.AsType[*respond.Refusal](err); ok {
			a.Error, a.Message = codeOf(ref.Status), ref.Text
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("gateway: answer of a command: %w", err)
	}
	return c.conn.Write(ctx, websocket.MessageText, text)
}

// codeOf returns the code of the protocol for the status of a refusal.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_argument"
	case http.StatusForbidden:
		return "permission_denied"
	case http.StatusNotFound:
		return "no_such_subscription"
	}
	return "unknown_error"
}

// subscription is the result of a subscription.
type subscription struct {
	ID string `json:"subscription_id"`
}

// subscribe starts a stream, and returns when it is open.
func (c *socket) subscribe(command []byte) (s subscription, err error) {
	var in struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(command, &in); err != nil {
		return s, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the command cannot be read: %v", err))
	}
	filter, since, err := parseFilter(in.Params)
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	opened, refused := make(chan struct{}), make(chan error, 1)
	c.streams.Go(func() {
		defer func() {
			p := recover()
			if err, _ := p.(error); p != nil && !errors.Is(err, http.ErrAbortHandler) { // which is the end of a stream
				c.thrown.Store(&p)
			}
			if ctx.Err() == nil {
				c.end(nil)
			}
		}()
		w := &frames{header: http.Header{}, socket: c, open: func() { close(opened) }}
		if err := c.Stream(w, c.r.WithContext(ctx), "agent-protocol", encode.Opening{Filter: filter, Since: since}, nil); err != nil {
			cancel()
			refused <- err
		}
	})
	select {
	case <-opened:
	case err := <-refused:
		return s, err
	case <-c.r.Context().Done():
		cancel()
		return s, context.Cause(c.r.Context())
	}
	c.last++
	s.ID = strconv.Itoa(c.last)
	c.subscriptions[s.ID] = cancel
	return s, nil
}

func (c *socket) unsubscribe(command []byte) error {
	var in struct {
		Params subscription `json:"params"`
	}
	err := json.Unmarshal(command, &in)
	cancel := c.subscriptions[in.Params.ID]
	if err != nil || cancel == nil {
		return respond.Refuse(http.StatusNotFound, fmt.Sprintf("the socket has no subscription %.40q", in.Params.ID))
	}
	delete(c.subscriptions, in.Params.ID)
	cancel()
	return nil
}

// frames is the response of a stream, whose Server-Sent Events become messages.
type frames struct {
	header   http.Header
	socket   *socket
	open     func() // called before the first write
	deadline time.Time
}

// Header returns the header, which is not sent.
func (f *frames) Header() http.Header { return f.header }

// WriteHeader reports that the stream is open.
func (f *frames) WriteHeader(int) { f.open() }

// SetWriteDeadline sets the deadline of later writes.
func (f *frames) SetWriteDeadline(deadline time.Time) error {
	f.deadline = deadline
	return nil
}

// FlushError does nothing: nothing is buffered.
func (f *frames) FlushError() error { return nil }

// Write sends the data of each event as a message. A heartbeat becomes a ping, because it has
// no data.
func (f *frames) Write(b []byte) (int, error) {
	ctx, cancel := context.WithDeadline(f.socket.r.Context(), f.deadline)
	defer cancel()
	empty := true
	for line := range bytes.Lines(b) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		empty = false
		if err := f.socket.conn.Write(ctx, websocket.MessageText, bytes.TrimSuffix(data, []byte("\n"))); err != nil {
			return 0, err
		}
	}
	if empty {
		if err := f.socket.conn.Ping(ctx); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}
