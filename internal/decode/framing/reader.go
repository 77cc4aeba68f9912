// Package framing cuts inputs into stream events: one event as JSON, an array of events,
// JSON Lines, server-sent events, lines of codes, frames of an AWS event stream, and plain
// text between them. Each may be cut at any byte between two inputs; what was cut is the
// State, which is stored with the session. Events come in the order of their text, each
// once. A Reader never fails as a whole, and its work is linear in the bytes it reads.
package framing

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Formats is what framing asks about the formats of events.
type Formats interface {
	// Format returns the name of the format of the stream, or "" if it is not known yet.
	Format() string
	// Fits reports whether a text is an event that needs no check: it is valid JSON.
	Fits(text string) bool
	// IsEvent reports whether a valid text is certainly an event, and no element of an
	// event that is an array.
	IsEvent(text string) bool
	// IsList reports whether a valid array is a list of events, and not one event.
	IsList(v jsonscan.Value) bool
}

// codeFormat is the format whose streams are lines of codes.
const codeFormat = "ai-sdk-v4"

// Reader reads inputs, one after another. It is not safe for concurrent use.
type Reader struct {
	Input   uint64 // sequence of the current input
	Formats Formats
	// Wrong is a problem with the whole input. The caller reads and clears it before Next.
	Wrong *wire.Problem
	Cut   *Cut // by the input before, or by this one

	state *State
	limit int // bytes of one event
	in    input
	uncut Cut // for Cut, if the State has none
	since since
}

// Begin begins an input that continues what s has of earlier ones.
func (r *Reader) Begin(s *State, limit int) {
	r.state, r.limit, r.Wrong = s, limit, nil
	r.in = input{}
	if r.Cut = s.Cut; r.Cut == nil {
		r.uncut = Cut{}
		r.Cut = &r.uncut
	}
	r.since = since{}
	if s.Since != nil {
		r.since.begins = s.Since.Begins
	}
}

// End begins the end of the stream, after Begin. What the last input cut is read as if
// nothing could continue it.
func (r *Reader) End() {
	cut, frame := r.Cut.JSON, r.Cut.Frame
	r.Cut.JSON, r.Cut.Frame, r.Cut.List = nil, nil, false
	switch s := r.state; {
	case frame != nil:
		r.in = input{data: wire.Alias(frame.Data), framing: eventStream}
		r.in.text.starts[0], r.in.text.last = frame.Alone, true
	case cut != nil:
		r.in = input{data: wire.Alias(cut.Text), framing: jsonText}
		r.in.text.starts[0], r.in.text.last = cut.Alone, true
	case r.Cut.Code != nil:
		r.in = input{data: "\n", framing: codeLines}
	case s.SSE != nil && s.SSE.Has:
		r.in = input{data: "\n\n", framing: sseText}
	default:
		s.SSE = nil
	}
}

// Skip skips the event that the input consists of, if Open found that it fits.
func (r *Reader) Skip() { r.in.framing = nothing }

// Next returns the next event of the input and reports whether there is one.
func (r *Reader) Next() (Event, bool) {
	p, ok := r.pull()
	if !ok {
		r.keepCut()
		return p, false
	}
	p.Input = r.InputAt(p.Base)
	return p, true
}

// Locate sets the place of a problem with an event.
func (r *Reader) Locate(p *Event, problem *wire.Problem) {
	if at := p.Base - r.in.text.before; at >= 0 && !p.Joined {
		problem.Line = r.in.lineOf(p.Base)
		problem.Offset += at
	}
}

func (r *Reader) tooLong() *wire.Problem {
	return &wire.Problem{Code: wire.OverLimit, Text: fmt.Sprintf("a stream event is longer than %d bytes", r.limit)}
}

type input struct {
	framing framing
	data    string
	at      int // offset of the next line or value
	sse     sseEvent
	text    textRest

	events   jsonscan.Cursor // of an array of events
	eventsAt int             // offset of the array
}

type framing uint8

const (
	nothing    framing = iota
	wholeEvent         // one event that is JSON
	arrayOfEvents
	jsonText // JSON values and other lines
	sseText
	codeLines
	eventStream // frames of AWS
)

// Event is the text of one stream event.
type Event struct {
	Input uint64 // sequence of the input in which the text begins
	Name  string
	Text  string
	Base  int  // offset of the text in the input
	Valid bool // the text is JSON in UTF-8
	Fits  bool // Formats.Fits has returned true for the text
	Rest  bool // the text is the rest of a line whose beginning is no event
	// Joined: Base is not the offset of the text, because it was joined from several
	// places.
	Joined bool

	Failure string        // of the stream, instead of a text
	Problem *wire.Problem // instead of a text
}

// Open opens an input. The data must not change until the next Begin.
func (r *Reader) Open(data string) {
	r.in = input{data: data}
	in := &r.in
	switch {
	case data == "":
	case r.Cut.Frame != nil || beginsFrame(data):
		r.openFrames()
	case r.Cut.JSON != nil:
		r.openCut()
	case r.continuesCode(data):
		in.framing = codeLines
	case !r.continues(data):
		r.openText()
	}
}

// openText determines the framing of an input that does not continue another one.
func (r *Reader) openText() {
	in := &r.in
	data := in.data[in.at:]
	if in.framing = r.lines(data); in.framing == nothing {
		r.openJSON(wire.Trim(data))
	}
}

// lines returns the framing of a text that begins with a line that is not JSON, or
// nothing.
func (r *Reader) lines(text string) framing {
	switch {
	case text == "" || nested(text):
	case beginsSSE(text):
		return sseText
	case r.beginsCodes(text):
		return codeLines
	}
	return nothing
}

// continues reports whether an input continues SSE text that the last input cut.
func (r *Reader) continues(data string) bool {
	in, m := &r.in, r.state.SSE
	if m == nil {
		return false
	}
	if m.CR && data[0] == '\n' {
		in.at = 1
	}
	m.CR = false
	if len(m.Line) == 0 && !m.Has && m.Name == "" && !m.Skip {
		return false
	}
	if m.unclear() {
		r.join(m.Line, data[in.at:])
		r.state.SSE = nil
		return true
	}
	if !m.continues(data[in.at:]) {
		r.abandon()
		return false
	}
	in.framing = sseText
	r.resume()
	return true
}

// openJSON determines whether the input is one event, an array of events, or other text.
func (r *Reader) openJSON(text string) {
	in := &r.in
	switch {
	case text == "":
	case r.Formats.Fits(text):
		in.framing = wholeEvent
	case nested(text) && wire.Valid(text) && utf8.ValidString(text):
		in.framing = wholeEvent
		if r.openArray(text, strings.IndexByte(in.data, '[')) {
			in.framing = arrayOfEvents
		}
	default:
		in.framing = jsonText
		if !strings.Contains(text, "\n") {
			in.text.tried = len(in.data) // it is no event
		}
	}
}

func nested(text string) bool { return text[0] == '{' || text[0] == '[' }

func (r *Reader) openArray(text string, at int) bool {
	if text[0] != '[' {
		return false
	}
	v := jsonscan.ValueOf(text)
	if !r.Formats.IsList(v) {
		return false
	}
	r.in.events, r.in.eventsAt = v.Elements(), at
	return true
}

func (r *Reader) pull() (Event, bool) {
	in := &r.in
	for {
		switch framing := in.framing; framing {
		case wholeEvent:
			in.framing = nothing
			p := trimmed(in.data, 0)
			p.Valid = true
			return p, true
		case arrayOfEvents:
			return r.nextElement()
		case jsonText:
			if p, ok := r.nextText(); ok || in.framing == framing {
				return p, ok
			}
		case sseText:
			if p, ok := r.nextSSE(); ok || in.framing == framing {
				return p, ok
			}
		case codeLines:
			return r.nextCode()
		case eventStream:
			if p, ok := r.nextFrame(); ok || in.framing == nothing {
				return p, ok
			}
		default:
			return Event{}, false
		}
	}
}

func (r *Reader) nextElement() (Event, bool) {
	in := &r.in
	if !in.events.Next() {
		return Event{}, false
	}
	base := in.eventsAt + in.events.Offset()
	return Event{Text: in.events.Value.Raw, Base: base, Valid: true}, true
}

func trimmed(s string, base int) Event {
	text := wire.Trim(s)
	return Event{Text: text, Base: base + strings.Index(s, text)}
}

// IsDone reports whether a text is the end of a stream of OpenAI. Some servers quote it.
func IsDone(text string) bool { return text == "[DONE]" || text == `"[DONE]"` }
