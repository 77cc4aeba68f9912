package langgraph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// settle is the time without commands after which events are streamed. A client subscribes
// several times at once, and must not get the end of a run before it has all of them.
const settle = 20 * time.Millisecond

// replyTimeout is the time in which a client must read the answer to a command.
const replyTimeout = 10 * time.Second

// socket is the WebSocket of a client of the agent protocol, which sends commands:
//
//	{"id":1,"method":"subscription.subscribe","params":{"channels":["messages"]}}
//	{"id":2,"method":"subscription.unsubscribe","params":{"subscription_id":"1"}}
//	{"id":3,"method":"input.respond","params":{"interrupt_id":"i","response":{}}}
//
// Each is answered {"type":"success","id","result"} or {"type":"error","id","error","message"}.
// All subscriptions share a stream. It begins again with the history when one is added: the
// event_id tells the client which events it has. The socket is closed with the stream; the
// client then connects again.
// https://github.com/langchain-ai/agent-protocol
type socket struct {
	server
	conn *websocket.Conn
	r    *http.Request // of the handshake; its context ends with the socket
	end  context.CancelCauseFunc

	subscriptions map[string]encode.Opening
	last          int                // number of the last subscription
	stop          context.CancelFunc // ends the stream; nil before the first
	running       sync.WaitGroup
	thrown        atomic.Pointer[any] // panic of a stream
}

// socket serves a WebSocket until the client closes it, or its stream ends.
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
	c := &socket{server: s, conn: conn, r: r.WithContext(ctx), end: end, subscriptions: map[string]encode.Opening{}}
	c.serve(ctx)
	c.running.Wait()
	if p := c.thrown.Load(); p != nil {
		panic(*p) // net/http logs it
	}
	return nil
}

// serve answers commands, and streams events, until the context ends.
func (c *socket) serve(ctx context.Context) {
	commands := make(chan []byte)
	c.running.Go(func() {
		defer c.end(nil)
		for {
			_, body, err := c.conn.Read(ctx)
			if err != nil {
				return
			}
			select {
			case commands <- body:
			case <-ctx.Done():
				return
			}
		}
	})
	settled := time.NewTimer(settle)
	settled.Stop()
	for {
		select {
		case body := <-commands:
			before := c.last
			if c.command(ctx, body) != nil {
				c.end(nil)
			}
			if c.last > before {
				settled.Reset(settle)
			}
		case <-settled.C:
			c.stream(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// reply is the answer to a command.
type reply struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
	Message string          `json:"message,omitempty"`
}

// command executes a command, and answers it.
func (c *socket) command(ctx context.Context, body []byte) (err error) {
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
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
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
	if len(c.subscriptions) == MaxPrefixes {
		return s, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the socket has %d subscriptions, which is the maximum", MaxPrefixes))
	}
	c.last++
	s.ID = strconv.Itoa(c.last)
	c.subscriptions[s.ID] = encode.Opening{Filter: filter, Since: since}
	return s, nil
}

func (c *socket) unsubscribe(command []byte) error {
	var in struct {
		Params subscription `json:"params"`
	}
	err := json.Unmarshal(command, &in)
	if _, found := c.subscriptions[in.Params.ID]; err != nil || !found {
		return respond.Refuse(http.StatusNotFound, fmt.Sprintf("the socket has no subscription %.40q", in.Params.ID))
	}
	delete(c.subscriptions, in.Params.ID)
	return nil
}

// opening returns what the subscriptions have in common: the client selects the events of
// each again.
func (c *socket) opening() (open encode.Opening) {
	first := true
	for _, s := range c.subscriptions {
		if first {
			open, first = s, false
			continue
		}
		open.Since = min(open.Since, s.Since)
		open.Filter = encode.Filter{Channels: append(slices.Clone(open.Filter.Channels), s.Filter.Channels...)}
	}
	return open
}

// stream replaces the stream by one for the current subscriptions.
func (c *socket) stream(ctx context.Context) {
	if c.stop != nil {
		c.stop()
	}
	if len(c.subscriptions) == 0 {
		return
	}
	ctx, c.stop = context.WithCancel(ctx)
	open := c.opening()
	c.running.Go(func() {
		defer func() {
			p := recover()
			if err, _ := p.(error); p != nil && !errors.Is(err, http.ErrAbortHandler) { // which is the end of a stream
				c.thrown.Store(&p)
			}
			if ctx.Err() == nil {
				c.end(nil)
			}
		}()
		err := c.Stream(&frames{header: http.Header{}, socket: c}, c.r.WithContext(ctx), "agent-protocol", open, nil)
		if ref, ok := errors.AsType[*respond.Refusal](err); ok {
			// The client adds 4000 to the status of HTTP. An error means that it has left.
			_ = c.conn.Close(websocket.StatusCode(4000+ref.Status), fmt.Sprintf("%.100s", ref.Text))
		}
	})
}

// frames is the response of a stream, whose Server-Sent Events become messages.
type frames struct {
	header   http.Header
	socket   *socket
	deadline time.Time
}

// Header returns the header, which is not sent.
func (f *frames) Header() http.Header { return f.header }

// WriteHeader does nothing: the client expects no answer.
func (f *frames) WriteHeader(int) {}

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
