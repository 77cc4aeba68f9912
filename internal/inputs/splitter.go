package app

import (
	"bytes"
	"slices"
	"strings"
)

// maxEvent is the length from which an SSE event is published in pieces, in bytes.
const maxEvent = 512 << 10

// pieces cuts the lines of a recorded stream into inputs: an SSE event with all its
// lines, and every other line by itself. All bytes but blank lines between inputs
// are in an input, in their order.
type pieces struct {
	event []byte // the lines of an incomplete SSE event
	first int    // the number of its first line
}

// piece is the body of an input, and the number of its first line.
type piece struct {
	data []byte
	line int
}

// line adds line n and appends to dst the pieces that are complete.
func (p *pieces) line(dst []piece, data []byte, n int) []piece {
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
		dst = append(p.end(dst), piece{data, n})
	}
	return dst
}

// end appends to dst the lines of an incomplete SSE event.
func (p *pieces) end(dst []piece) []piece {
	if len(p.event) == 0 {
		return dst
	}
	dst = append(dst, piece{p.event, p.first})
	p.event = nil
	return dst
}

// close appends to dst the last piece. The end of the stream ends an SSE event.
func (p *pieces) close(dst []piece) []piece {
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
