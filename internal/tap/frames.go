package tap

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"streamer/internal/final"

	"github.com/tidwall/gjson"
)

// copiedConn is a connection to an upstream whose bytes are copied as well. When it is taken
// over, the upstream is closed, and the tap answers the client.
type copiedConn struct {
	io.ReadWriteCloser
	to    *duplex
	holds *holds

	mu        sync.Mutex
	wake      sync.Cond
	out, back frames // of the client, of the server
	pending   []byte // of a message of the client that may not be passed on
	own       bool   // it is taken over
	answers   []byte // to the client
	over      bool   // nothing follows them
}

func newCopiedConn(conn io.ReadWriteCloser, to *duplex, h *holds) *copiedConn {
	c := &copiedConn{ReadWriteCloser: conn, to: to, holds: h}
	c.wake.L = &c.mu
	return c
}

func (c *copiedConn) Read(p []byte) (int, error) {
	for {
		if n, err, own := c.answer(p); own {
			return n, err
		}
		n, err := c.ReadWriteCloser.Read(p)
		if c.received(p[:n], err) {
			return n, err
		}
	}
}

// received copies what was read of the server. It reports false where the connection was
// taken over meanwhile, and the client does not get it.
func (c *copiedConn) received(p []byte, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own {
		return false
	}
	c.back.read(p)
	c.to.write(fromServer, p)
	if err != nil {
		c.to.close(fromServer, errCut)
	}
	return true
}

// answer returns what the tap answers, where the connection is taken over.
func (c *copiedConn) answer(p []byte) (n int, err error, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.own && len(c.answers) == 0 && !c.over {
		c.wake.Wait()
	}
	if c.own && len(c.answers) == 0 {
		return 0, io.EOF, true
	}
	n = copy(p, c.answers)
	c.answers = c.answers[n:]
	return n, nil, c.own
}

// Write passes on what the client sent. While anything is stopped, a message waits until it
// is read.
func (c *copiedConn) Write(p []byte) (int, error) {
	c.to.write(fromClient, p)
	c.mu.Lock()
	c.out.read(p)
	if !c.own && (len(c.pending) > 0 || c.holds.size.Load() > 0) && len(c.pending) < maxFrame {
		c.pending = append(c.pending, p...)
		if !c.out.between() {
			c.mu.Unlock()
			return len(p), nil
		}
		c.mu.Unlock()
		c.to.settle(fromClient)
		c.mu.Lock()
	}
	own, rest := c.own, p
	if c.pending != nil {
		rest, c.pending = c.pending, nil
	}
	c.mu.Unlock()
	if own {
		return len(p), nil
	}
	if _, err := c.ReadWriteCloser.Write(rest); err != nil {
		return 0, err
	}
	return len(p), nil
}

// takeOver closes the upstream. It reports whether the client has whole messages only, so that
// others can follow.
func (c *copiedConn) takeOver() bool {
	c.mu.Lock()
	c.own, c.pending = true, nil
	whole := c.back.between()
	c.wake.Broadcast()
	c.mu.Unlock()
	_ = c.ReadWriteCloser.Close()
	return whole
}

func (c *copiedConn) isOwn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own
}

// Opcodes of RFC 6455, of a message of one frame.
const (
	textFrame  = 0x81
	closeFrame = 0x88
)

// say sends a frame to the client.
func (c *copiedConn) say(opcode byte, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, opcode)
	switch n := len(payload); {
	case n < 126:
		c.answers = append(c.answers, byte(n))
	case n <= 0xffff:
		c.answers = binary.BigEndian.AppendUint16(append(c.answers, 126), uint16(n))
	default:
		c.answers = binary.BigEndian.AppendUint64(append(c.answers, 127), uint64(n))
	}
	c.answers = append(c.answers, payload...)
	c.wake.Broadcast()
}

// shut ends a connection that is taken over, behind its answers.
func (c *copiedConn) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.wake.Broadcast()
}

func (c *copiedConn) Close() error {
	c.shut()
	c.to.close(fromClient, io.EOF)
	c.to.close(fromServer, errLeft)
	return c.ReadWriteCloser.Close()
}

// CloseWrite passes on the end of one direction.
func (c *copiedConn) CloseWrite() error {
	c.to.close(fromClient, io.EOF)
	if c.isOwn() {
		c.shut()
		return nil
	}
	if half, ok := c.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// frames follows the frames of a direction: https://www.rfc-editor.org/rfc/rfc6455#section-5.2
type frames struct {
	head [14]byte
	n    int    // bytes of head
	left uint64 // bytes of the payload that follow
	open bool   // the last frame of the message follows
}

func (f *frames) read(p []byte) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, uint64(len(p)))
			f.left, p = f.left-n, p[n:]
			continue
		}
		f.head[f.n], p = p[0], p[1:]
		if f.n++; f.n >= 2 {
			f.header()
		}
	}
}

// header reads the header of a frame, if it is whole.
func (f *frames) header() {
	size, left := 2, uint64(f.head[1]&0x7f)
	switch left {
	case 126:
		size, left = 4, uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 127:
		size, left = 10, binary.BigEndian.Uint64(f.head[2:])
	}
	if f.head[1]&0x80 != 0 {
		size += 4
	}
	if f.n == size {
		f.n, f.left = 0, left
		if f.head[0]&0x08 == 0 { // not a ping or the like
			f.open = f.head[0]&0x80 == 0
		}
	}
}

// between reports whether no message is open.
func (f *frames) between() bool { return f.n == 0 && f.left == 0 && !f.open }

// halt ends the answer under way, and takes the connection over.
func (s *socket) halt(x *exchange, h *hold) {
	s.mu.Lock()
	under := s.current == x && x.halted == nil
	if under {
		x.halted = h
	}
	s.mu.Unlock()
	if !under {
		return
	}
	whole := s.conn.takeOver()
	s.conn.to.settle(fromServer)
	e := final.End{Cut: true}
	if sent, ok := x.out.copied(); ok && whole {
		r := x.want
		r.Text = h.text
		e = final.EndOf(r, sent)
	}
	x.said = e.Said
	s.close(errStopped)
	s.tap.ended(h, &e)
	s.sayLines(e.Tail)
	if e.Cut {
		s.conn.shut()
	}
}

func (s *socket) sayLines(lines []byte) {
	for line := range bytes.Lines(lines) {
		s.conn.say(textFrame, bytes.TrimSuffix(line, []byte("\n")))
	}
}

// decide answers a message of the client that is not passed on, where a hold stops it or the
// connection is taken over. The provider does not know what the tap answered there.
func (s *socket) decide(x *exchange, previous string) {
	select {
	case <-x.known:
	case <-time.After(placing):
	}
	h, own := x.held(s.tap.ctx), s.conn.isOwn()
	switch {
	case h != nil:
		x.halted = h
		s.conn.takeOver()
		r := x.want
		r.Text = h.text
		s.sayLines(final.Answer(r))
		s.tap.report(h, x.back, 1)
	case own && previous != "":
		s.conn.say(textFrame, final.Unknown(previous))
	case own:
		s.conn.say(closeFrame, []byte{0x03, 0xf4}) // 1012: service restart
		s.conn.shut()
	default:
		return
	}
	s.close(errStopped)
	x.answer(0, nil)
}

// previousOf returns the answer that a request follows, "" if it names none.
func previousOf(request []byte) string { return gjson.GetBytes(request, "previous_response_id").Str }
