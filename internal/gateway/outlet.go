package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/encode"
)

// outlet writes the body of a stream. Its methods are not called at the same time.
type outlet interface {
	// write writes the frames that follow chunkSpace in buf, and may change buf.
	write(buf []byte, deadline time.Time) error
	// share writes an event that other streams write too, in the stateless protocol of
	// enc.
	share(sh *shared, enc encode.Encoder, deadline time.Time) error
}

const (
	crlf = "\r\n"
	// chunkSpace is the space before frames for the size of a chunk.
	chunkSpace = "12345678" + crlf
)

// newChunk returns a buffer for frames.
func newChunk() []byte { return append(make([]byte, 0, 512), chunkSpace...) }

// closeChunk returns the chunk with the frames that follow chunkSpace in buf, which it
// changes.
func closeChunk(buf []byte) []byte {
	size := len(buf) - len(chunkSpace)
	var digits [16]byte
	hex := strconv.AppendUint(digits[:0], uint64(size), 16)
	start := len(chunkSpace) - len(crlf) - len(hex)
	copy(buf[start:], hex)
	copy(buf[len(chunkSpace)-len(crlf):], crlf)
	return append(buf, crlf...)[start:]
}

// response is the body of a response of net/http.
type response struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	sent *atomic.Uint64 // counts bytes
}

// newResponse sends the header and returns the body.
func newResponse(w http.ResponseWriter, sent *atomic.Uint64) response {
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	// From here on, reading only detects that the client disconnects.
	_ = rc.SetReadDeadline(time.Time{})
	return response{w, rc, sent}
}

func (o response) write(buf []byte, deadline time.Time) error {
	return o.send(buf[len(chunkSpace):], deadline)
}

func (o response) share(sh *shared, enc encode.Encoder, deadline time.Time) error {
	return o.send(sh.frame(enc), deadline)
}

func (o response) send(frames []byte, deadline time.Time) error {
	_ = o.rc.SetWriteDeadline(deadline)
	n, err := o.w.Write(frames)
	o.sent.Add(uint64(n))
	if err != nil {
		return err
	}
	return o.rc.Flush()
}

// connection is the body of a response on a connection with HTTP/1 that was taken over
// from net/http, whose buffers and goroutines need several times the memory.
type connection struct {
	net.Conn
	sent    *atomic.Uint64 // counts bytes
	chunked bool           // the client has HTTP/1.1
	keep    bool           // the client may send another request after the body
	head    []byte         // header that was not sent yet
	reading sync.WaitGroup
	read    []byte // what watch read; set before reading is done
	gone    bool   // the client has closed the connection; likewise
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
		first := make([]byte, 1)
		n, err := c.Read(first)
		if c.read = first[:n]; err != nil {
			c.gone = !errors.Is(err, os.ErrDeadlineExceeded)
			disconnected()
		}
	})
}

// end ends the body if its end is orderly, and gives the connection to next. If that
// does not take it, or may not, it closes the connection.
func (c *connection) end(orderly bool, deadline time.Time, next func(net.Conn) bool) {
	complete := orderly && c.chunked && c.send([]byte("0\r\n\r\n"), deadline) == nil
	if !complete || !c.keep {
		_ = c.Close() // it has ended in any case
		c.reading.Wait()
		return
	}
	_ = c.SetReadDeadline(time.Unix(1, 0)) // ends the read of watch
	c.reading.Wait()
	_ = c.SetDeadline(time.Time{})
	if conn := resumed(c.Conn, c.read); c.gone || conn == nil || !next(conn) {
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

func (c *connection) share(sh *shared, enc encode.Encoder, deadline time.Time) error {
	if c.chunked {
		return c.send(sh.framed(enc), deadline)
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
