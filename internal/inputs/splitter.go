package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Piece is a part of a stream that is the body of an input.
type Piece struct {
	Data []byte
	Line int // number of its first line; of a binary stream, number of the piece
}

// Splitter cuts a stream of deltas into inputs as it arrives. A line of JSON, or an
// event of raw SSE text, is one input. A stream that is not text is cut into the
// pieces that were read.
type Splitter struct {
	lines  Lines
	binary bool
	begun  bool
	n      int // lines or pieces read
	cut    pieces
	ready  []Piece
	ended  bool
}

// NewSplitter returns a splitter of in, whose lines have at most maxLine bytes.
func NewSplitter(in io.Reader, maxLine int) *Splitter {
	return &Splitter{lines: NewLines(in, maxLine)}
}

// Next returns the next piece. The error is io.EOF after the last piece, or that of
// the reader: an SSE event that is then incomplete is not returned.
func (s *Splitter) Next() (Piece, error) {
	if !s.begun {
		s.begun, s.binary = true, s.lines.Binary()
	}
	for len(s.ready) == 0 {
		if s.ended {
			return Piece{}, io.EOF
		}
		if err := s.read(); err != nil {
			return Piece{}, err
		}
	}
	p := s.ready[0]
	s.ready = s.ready[1:]
	return p, nil
}

// Binary reports whether the stream is not text, after the first call of Next.
func (s *Splitter) Binary() bool { return s.binary }

func (s *Splitter) read() error {
	s.n++
	s.ready = s.ready[:0]
	if s.binary {
		data, err := s.lines.Piece()
		if len(data) > 0 {
			s.ready = append(s.ready, Piece{data, s.n})
		}
		return s.end(err)
	}
	line, err := s.lines.Next()
	if err == nil || errors.Is(err, io.EOF) {
		s.ready = s.cut.line(s.ready, line, s.n)
	}
	if errors.Is(err, io.EOF) {
		s.ready = s.cut.close(s.ready)
	}
	if err = s.end(err); err != nil {
		err = fmt.Errorf("line %d: %w", s.n, err)
	}
	return err
}

// end records the end of the stream. It returns any other error.
func (s *Splitter) end(err error) error {
	if errors.Is(err, io.EOF) {
		s.ended = true
		return nil
	}
	return err
}

// maxEvent is the length from which an SSE event is published in pieces, in bytes.
const maxEvent = 512 << 10

// pieces cuts the lines of a recorded stream into inputs: an SSE event with all its
// lines, and every other line by itself. All bytes but blank lines between inputs
// are in an input, in their order.
type pieces struct {
	event []byte // the lines of an incomplete SSE event
	first int    // the number of its first line
}

// line adds line n and appends to dst the pieces that are complete.
func (p *pieces) line(dst []Piece, data []byte, n int) []Piece {
	text := bytes.TrimSpace(data)
	switch {
	case len(text) == 0 && len(p.event) == 0:
	case len(text) == 0:
		p.event = append(p.event, '\n')
		dst = p.end(dst)
	case isSSE(text):
		if len(p.event) == 0 {
			p.first = n
		}
		if p.event = append(p.event, data...); len(p.event) > maxEvent {
			dst = p.end(dst)
		}
	default: // such as a line of JSON, or what a program prints between them
		dst = append(p.end(dst), Piece{data, n})
	}
	return dst
}

// end appends to dst the lines of an incomplete SSE event.
func (p *pieces) end(dst []Piece) []Piece {
	if len(p.event) == 0 {
		return dst
	}
	dst = append(dst, Piece{p.event, p.first})
	p.event = nil
	return dst
}

// close appends to dst the last piece. The end of the stream ends an SSE event.
func (p *pieces) close(dst []Piece) []Piece {
	if len(p.event) > 0 {
		p.event = append(p.event, "\n\n"...)
	}
	return p.end(dst)
}

// isSSE reports whether a line is a field or a comment of an SSE event. Besides the
// standard fields some servers send the field error.
// https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
func isSSE(line []byte) bool {
	name, _, _ := strings.Cut(string(line[:min(len(line), 8)]), ":")
	return name == "" || slices.Contains([]string{"data", "event", "id", "retry", "error"}, name)
}
