package decode

import (
	"strings"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// console reports whether plain text may stand between the events of the current
// format.
func (s *State) console() bool {
	f := find(s.Format)
	return f != nil && f.Console
}

// maxEarly is the maximum number of problems that are held.
const maxEarly = 4

// hold keeps the problem with a text that comes before the format is known, if it is
// one of the lines of prose with which the log of a terminal program may begin. It
// reports false where the problem is not held. The rest of a line that is held needs no
// problem of its own.
func (r *Reader) hold(p *framing.Event, problem *wire.Problem) bool {
	if r.state.Format == "" && p.Rest && len(r.frames.Cut.Early) > 0 {
		return true
	}
	if r.state.Format != "" || len(r.frames.Cut.Early) == maxEarly || !prose(p.Text) {
		return false
	}
	r.frames.Cut.Early = append(r.frames.Cut.Early, *problem)
	return true
}

// prose reports whether a text has several words and does not begin like JSON.
func prose(text string) bool {
	return strings.Contains(text, " ") && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) &&
		(text[0] != '[' || 'a' <= text[1]|0x20 && text[1]|0x20 <= 'z')
}

// release ends the wait for the format. Problems that were held are reported, unless
// the stream is that of a terminal program.
func (r *Reader) release() {
	if !r.state.console() {
		r.early = r.frames.Cut.Early
	}
	r.frames.Cut.Early = nil
}

// plainText reports whether a text that is no event is plain text: it does not begin
// like an object. A text that does is an event that was damaged. Nor is a list plain text
// that shows a call.
func plainText(text string) bool {
	if strings.HasPrefix(text, "[") && strings.Contains(text, "{") && wire.Valid(text) {
		return !wire.ShowsCall(jsonscan.ValueOf(text))
	}
	inside, object := strings.CutPrefix(text, "{")
	if !object {
		return true
	}
	inside = strings.TrimLeft(inside, " \t\r\n")
	return inside != "" && inside[0] != '"' && inside[0] != '}'
}
