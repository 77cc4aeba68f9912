package tap

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // of the handshake, as RFC 6455 wants
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"
)

// maxFrame bounds a message of a WebSocket in the copy.
const maxFrame = 32 << 20

// upgrade copies both directions of a WebSocket. Each response.create of the client begins
// an exchange, and the events of the server up to the end of the response are its answer:
// https://platform.openai.com/docs/guides/websocket-mode
func (x *exchange) upgrade(res *http.Response) {
	conn, ok := res.Body.(io.ReadWriteCloser)
	if !ok || x.endpoint == nil || !strings.EqualFold(res.Header.Get("Upgrade"), "websocket") {
		return
	}
	x.header.Del("X-Codex-Turn-Metadata") // of the prewarm; each message has its own
	d := newDuplex(&x.tap.memory)
	s := &socket{exchange: x, conn: newCopiedConn(conn, d, &x.tap.holds)}
	extensions := agreed(res.Header.Get("Sec-WebSocket-Extensions"))
	res.Body = s.conn
	x.tap.open.Go(func() {
		defer d.drop(fromClient)
		_ = s.read(s.sent)(accept(side{d, fromClient}, extensions))
		s.leave(d.reason(fromClient))
		if s.conn.isOwn() {
			s.conn.say(closeFrame, nil)
			s.conn.shut()
		}
	})
	x.tap.open.Go(func() {
		defer d.drop(fromServer)
		err := s.read(s.received)(dial(side{d, fromServer}, extensions))
		why := d.reason(fromServer)
		if websocket.CloseStatus(err) >= 0 { // it ended with a frame
			why = errCut
		}
		if why == nil || errors.Is(why, errLost) { // what the server sends cannot be read
			why = errLost
			x.tap.lose(1, why)
		}
		s.over(why)
	})
}

// socket is the state of a copied WebSocket.
type socket struct {
	*exchange // of the handshake
	conn      *copiedConn
	mu        sync.Mutex
	current   *exchange // whose answer arrives, nil for none
	left      bool      // the client has closed the connection
	ended     bool      // nothing is read from the server anymore
}

// read returns a function that calls fn with each message of a connection. It returns why
// nothing follows.
func (s *socket) read(fn func([]byte)) func(c *websocket.Conn, err error) error {
	return func(c *websocket.Conn, err error) error {
		if err != nil {
			return err
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(maxFrame)
		for {
			_, data, err := c.Read(s.tap.ctx)
			if err != nil {
				return err
			}
			fn(data)
		}
	}
}

// sent begins an exchange for a message of the client that asks for a response.
func (s *socket) sent(data []byte) {
	if gjson.GetBytes(data, "type").Str != "response.create" {
		return
	}
	x := &exchange{tap: s.tap, up: s.up, path: s.path, endpoint: s.endpoint, header: s.header, scope: s.scope, id: rand.Text(), on: s}
	x.in, x.out = newWhole(int64(len(data)), &s.tap.memory), newQueue(maxWaiting, &s.tap.memory, &s.tap.kept)
	x.answered, x.known = make(chan struct{}), make(chan struct{})
	x.gated, x.since, x.late = s.tap.holds.size.Load() > 0, s.tap.holds.seen(), s.conn.isOwn()
	if body := gjson.GetBytes(data, "response"); body.IsObject() {
		data = []byte(body.Raw)
	}
	x.in.write(data)
	x.in.close(io.EOF)
	if !x.late {
		x.answer(http.StatusOK, http.Header{"Content-Type": {"application/jsonl"}})
	}
	previous := previousOf(data)
	s.close(errCut)
	if s.begin(x) && (x.gated || x.late) {
		s.decide(x, previous)
	}
}

// begin begins an exchange, unless nothing can answer it.
func (s *socket) begin(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		x.in.drop()
		return false
	}
	s.current = x
	x.start()
	return true
}

// received adds an event of the server to the answer.
func (s *socket) received(data []byte) {
	s.mu.Lock()
	x := s.current
	s.mu.Unlock()
	if x == nil {
		return
	}
	x.out.write(append(data, '\n'))
	switch gjson.GetBytes(data, "type").Str {
	case "response.completed", "response.failed", "response.incomplete", "response.cancelled", "error":
		s.close(io.EOF)
	}
}

// leave records that nothing follows from the client, for a reason.
func (s *socket) leave(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = !errors.Is(why, errLost)
}

// over records that nothing is read from the server anymore.
func (s *socket) over(why error) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.close(why)
}

// close ends the answer that arrives.
func (s *socket) close(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil {
		if s.left && errors.Is(why, errCut) {
			why = errLeft
		}
		s.current.out.close(why)
		s.current = nil
	}
}

// accept returns a connection that reads what a client sent. The extensions are those that
// the server has agreed to.
func accept(sent io.Reader, extensions string) (*websocket.Conn, error) {
	r := &http.Request{Method: http.MethodGet, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
		"Sec-Websocket-Key": {base64.StdEncoding.EncodeToString(make([]byte, 16))},
	}}
	if extensions != "" {
		r.Header.Set("Sec-WebSocket-Extensions", extensions)
	}
	return websocket.Accept(hijacked{sent}, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: mode(extensions, "client_no_context_takeover")})
}

// agreed returns the extensions of an answer without the parameters that change nothing for
// a reader.
func agreed(extensions string) string {
	if !strings.Contains(extensions, "permessage-deflate") {
		return ""
	}
	list := []string{"permessage-deflate"}
	for _, p := range []string{"client_no_context_takeover", "server_no_context_takeover"} {
		if strings.Contains(extensions, p) {
			list = append(list, p)
		}
	}
	return strings.Join(list, "; ")
}

func mode(extensions, without string) websocket.CompressionMode {
	switch {
	case !strings.Contains(extensions, "permessage-deflate"):
		return websocket.CompressionDisabled
	case strings.Contains(extensions, without):
		return websocket.CompressionNoContextTakeover
	}
	return websocket.CompressionContextTakeover
}

// dial returns a connection that reads what a server sent.
func dial(received io.Reader, extensions string) (*websocket.Conn, error) {
	c, res, err := websocket.Dial(context.Background(), "ws://copy/", &websocket.DialOptions{
		HTTPClient:      &http.Client{Transport: handshake{received, extensions}},
		CompressionMode: mode(extensions, "server_no_context_takeover"),
	})
	if res != nil && res.Body != nil && err != nil {
		res.Body.Close()
	}
	return c, err
}

// handshake answers a handshake as the server did.
type handshake struct {
	received   io.Reader
	extensions string
}

func (h handshake) RoundTrip(r *http.Request) (*http.Response, error) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as RFC 6455 wants
	header := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Accept": {base64.StdEncoding.EncodeToString(sum[:])}}
	if h.extensions != "" {
		header.Set("Sec-WebSocket-Extensions", h.extensions)
	}
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: header, Body: reading{h.received}, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// reading is a connection that only reads: what the library answers goes nowhere.
type reading struct{ io.Reader }

func (reading) Write(p []byte) (int, error)      { return len(p), nil }
func (reading) Close() error                     { return nil }
func (reading) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (reading) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (reading) SetDeadline(time.Time) error      { return nil }
func (reading) SetReadDeadline(time.Time) error  { return nil }
func (reading) SetWriteDeadline(time.Time) error { return nil }

// hijacked is the answer to a handshake whose connection reads a copy.
type hijacked struct{ sent io.Reader }

func (hijacked) Header() http.Header         { return http.Header{} }
func (hijacked) Write(p []byte) (int, error) { return len(p), nil }
func (hijacked) WriteHeader(int)             {}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c := reading{h.sent}
	return c, bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c)), nil
}
