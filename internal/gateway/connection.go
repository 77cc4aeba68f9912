package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/encode"
)

// connection is the body of a response on a connection with HTTP/1 that was taken over
// from net/http, whose buffers and goroutines need several times the memory.
type connection struct {
	net.Conn
	sent    *atomic.Uint64 // counts bytes
	chunked bool           // the client has HTTP/1.1
	keep    bool           // the client may send another request after the body
	head    []byte         // header that was not sent yet
	reading sync.WaitGroup
	silent  bool // the client has sent nothing, and has not closed; set before reading is done
}

// takeOver takes the connection of a GET request over, and sets the header of the
// response, which is sent with the first bytes of the body. keep states that the
// connection can be used again. It returns nil if net/http keeps the connection, as with
// HTTP/2.
func takeOver(w http.ResponseWriter, r *http.Request, keep bool, sent *atomic.Uint64) *connection {
	if r.ProtoMajor != 1 || r.Method != http.MethodGet || r.Body != http.NoBody {
		return nil
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil { // the writer has no connection, such as a recorder
		return nil
	}
	// A request that was read already would be lost, so the connection is then not used
	// again. Otherwise Connection: close is avoided: with it, clients in node take the
	// loss of the connection for the end of the body.
	c := &connection{Conn: conn, sent: sent, chunked: r.ProtoAtLeast(1, 1), keep: keep && r.ProtoAtLeast(1, 1) && !r.Close && buffered.Reader.Buffered() == 0}
	proto, rest := "HTTP/1.0", ""
	if c.chunked {
		proto, rest = "HTTP/1.1", "Transfer-Encoding: chunked\r\n"
	}
	if c.chunked && !c.keep {
		rest += "Connection: close\r\n"
	}
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s 200 OK\r\n", proto)
	_ = w.Header().Write(&head) // a buffer takes everything
	fmt.Fprintf(&head, "Date: %s\r\n%s\r\n", time.Now().UTC().Format(http.TimeFormat), rest)
	c.head = head.Bytes()
	return c
}

// watch calls disconnected when the client closes the connection. A client that sends
// something is not watched any more: the next heartbeat shows that it has closed.
func (c *connection) watch(disconnected func()) {
	c.reading.Go(func() {
		_, err := c.Read(make([]byte, 1))
		if c.silent = errors.Is(err, os.ErrDeadlineExceeded); err != nil {
			disconnected()
		}
	})
}

// end ends the body if its end is orderly, and gives the connection to next. If that
// does not take it, or may not, it closes the connection. The read of watch ends before
// the body: it would take the first byte of the next request.
func (c *connection) end(orderly bool, deadline time.Time, next func(net.Conn) bool) {
	_ = c.SetReadDeadline(time.Unix(1, 0))
	c.reading.Wait()
	ended := orderly && c.chunked && c.send([]byte("0\r\n\r\n"), deadline) == nil
	_ = c.SetDeadline(time.Time{})
	if !ended || !c.keep || !c.silent || !next(c.Conn) {
		_ = c.Close()
	}
}

func (c *connection) write(buf []byte, deadline time.Time) error {
	switch {
	case len(buf) == len(chunkSpace): // a chunk without data would end the body
		return nil
	case c.chunked:
		return c.send(closeChunk(buf), deadline)
	}
	return c.send(buf[len(chunkSpace):], deadline)
}

func (c *connection) share(sh *sharedEvent, enc encode.Encoder, deadline time.Time) error {
	if c.chunked {
		return c.send(sh.chunk(enc), deadline)
	}
	return c.send(sh.frame(enc), deadline)
}

func (c *connection) send(b []byte, deadline time.Time) error {
	if c.head != nil {
		b = append(c.head, b...)
		c.head = nil
	}
	_ = c.SetWriteDeadline(deadline) // an error shows in Write
	n, err := c.Write(b)
	c.sent.Add(uint64(n))
	return err
}

// reuse serves the next requests of a connection whose stream has ended in order, and
// reports whether the server accepts it. A client may send a request at the moment
// when the stream ends, and few repeat it if the connection is then closed.
func (g *Gateway) reuse(c net.Conn) bool {
	l := &oneConn{c}
	_ = g.server.Load().Serve(l) // an error either of l, or because the server stops
	return l.conn == nil
}

type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	c := l.conn
	if l.conn = nil; c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close does nothing: the connection stays open.
func (*oneConn) Close() error { return nil }

// Addr returns no particular address.
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }
