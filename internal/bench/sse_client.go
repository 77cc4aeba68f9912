package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is one stream, read with as little work as possible: the load client runs on
// the cores of the server.
type client struct {
	conn    net.Conn
	lines   *bufio.Reader
	session string

	ids   []uint64        // of the events so far
	ages  []time.Duration // of the texts that are times
	twice int             // events that arrived again, or after a later one
	bytes int64
	live  bool // all stored events were read
	last  bool // the text lastText was read
}

// perAddress is the number of connections from one loopback address. Each needs a port
// of its own, and an address has about 28,000 of them.
const perAddress = 20_000

// lastText is the text of the last event of a measurement.
const lastText = "the-last-text"

// lineBuffer is the minimum size of the read buffers of a client.
const lineBuffer = 4 << 10

// open opens the n-th stream at once. n selects the local address.
func (s *sseServer) open(ctx context.Context, session string, n int) (*client, error) {
	d := net.Dialer{Timeout: receiveTime}
	if n >= perAddress {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+n/perAddress))}
	}
	conn, err := d.DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return nil, fmt.Errorf("stream of session %s: %w", session, err)
	}
	c := &client{conn: conn, session: session}
	if err := c.request(s.addr, s.buffer); err != nil {
		conn.Close()
		return nil, fmt.Errorf("stream of session %s: %w", session, err)
	}
	return c, nil
}

// request sends the request and reads the header of the answer.
func (c *client) request(addr string, buffer int) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(receiveTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.conn, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: %s\r\n\r\n", c.session, addr); err != nil {
		return err
	}
	r := bufio.NewReaderSize(c.conn, max(lineBuffer, buffer))
	resp, err := http.ReadResponse(r, nil) //nolint:bodyclose // the body ends with the connection
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // a part of the reason is enough
		return fmt.Errorf("status %d: %s", resp.StatusCode, b)
	}
	c.lines = bufio.NewReaderSize(resp.Body, lineBuffer)
	return nil
}

func (c *client) close() { c.conn.Close() }

var errSSELines = errors.New("a stream ended early")

// line reads a line. It returns only the beginning of a long one.
func (c *client) line() ([]byte, error) {
	line, err := c.lines.ReadSlice('\n')
	n := len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line[:min(len(line), 256)])
		var rest []byte
		rest, err = c.lines.ReadSlice('\n')
		n += len(rest)
	}
	c.bytes += int64(n)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSSELines, err)
	}
	return line, nil
}

// readUntilLive reads the stored events.
func (c *client) readUntilLive() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(replayTime)); err != nil {
		return err
	}
	for !c.live {
		if err := c.next(); err != nil {
			return err
		}
	}
	return c.conn.SetReadDeadline(time.Time{})
}

// readUntilLast reads events until that with lastText.
func (c *client) readUntilLast() error {
	for !c.last {
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

var (
	idField    = []byte("id: ")
	dataField  = []byte("data: ")
	liveField  = []byte("event: stream.live")
	contentKey = []byte(`"content":"`)
)

// next reads a line.
func (c *client) next() error {
	line, err := c.line()
	switch {
	case err != nil:
		return err
	case bytes.HasPrefix(line, idField):
		id, err := strconv.ParseUint(strings.TrimSpace(string(line[len(idField):])), 10, 64)
		if err != nil {
			return fmt.Errorf("id of an event: %w", err)
		}
		if n := len(c.ids); n > 0 && c.ids[n-1] >= id {
			c.twice++
			return nil
		}
		c.ids = append(c.ids, id)
	case bytes.HasPrefix(line, liveField):
		c.live = true
	case bytes.HasPrefix(line, dataField):
		c.readText(line)
	}
	return nil
}

// readText reads the text of an event: the time at which it was published, or
// lastText.
func (c *client) readText(line []byte) {
	_, text, ok := bytes.Cut(line, contentKey)
	if !ok {
		return
	}
	text, _, _ = bytes.Cut(text, []byte{'"'})
	if len(text) < len(lastText) {
		return
	}
	if string(text) == lastText {
		c.last = true
	} else if sent, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		c.ages = append(c.ages, time.Since(time.Unix(0, sent)))
	}
}
