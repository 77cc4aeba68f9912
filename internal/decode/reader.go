// Package decode turns the bytes of stream events, in any provider's format,
// into chunks. Each format is one package and one line in formats.go.
//
// What decoding keeps between inputs is a State, a value that is stored with
// the session. A Reader emits chunks in wire order and continues after anything
// that it cannot use. It never fails as a whole, and its work is linear in the
// bytes it reads.
package decode

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/template"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Limits are the bounds of a Reader.
type Limits struct {
	Event int // bytes of one stream event; if 0, 8 MiB
}

const defaultEvent = 8 << 20

func (l Limits) event() int {
	if l.Event <= 0 {
		return defaultEvent
	}
	return l.Event
}

// Reader reads inputs, one after another. The zero value needs a Reset. A Reader
// holds scratch space and should be reused. It is not safe for concurrent use.
type Reader struct {
	// Input is the sequence of the current input, which a Problem with it names.
	Input uint64

	state     *State
	limits    Limits
	in        input
	cut       *Cut // by the input before, or by this one
	uncut     Cut  // for cut, if the State has none
	since     since
	wrong     *wire.Problem  // with the whole input
	early     []wire.Problem // that were held and are reported now
	w         wire.Writer
	problem   *wire.Problem
	named     bool // the format of the input is given
	templates template.Cache
	scan      wire.Scan // of the current event
	fits      bool      // the current event fits a template
	filled    bool      // and was filled from it
}

// Reset begins an input: one stream event as JSON, a JSON array of them,
// NDJSON, or raw SSE text. All of them may be cut anywhere between inputs. The
// data must not change until the next Reset; strings of the chunks may share it.
//
// A format that is not "" must be one of Names and is remembered in s. All
// events of the input must be of it; one that cannot be is a Problem. Without a
// format, the remembered one is used as long as events may be of it. The format
// is recognised where there is none or an event is surely of another.
func (r *Reader) Reset(s *State, data []byte, format string, limits Limits) {
	r.begin(s, limits)
	r.named = format != ""
	if r.named {
		if find(format) == nil {
			r.wrong = &wire.Problem{Code: wire.BadFormat, Text: fmt.Sprintf("there is no format %q; the formats are %s", wire.Clip(format), strings.Join(Names(), ", ")), Input: r.Input}
			return
		}
		s.Format = format
	}
	r.open(wire.Alias(data))
}

// End begins the end of the stream. What the last input cut is read as if nothing
// could continue it, so most of it is a Problem.
func (r *Reader) End(s *State, limits Limits) {
	r.begin(s, limits)
	r.release()
	cut, frame := r.cut.JSON, r.cut.Frame
	r.cut.JSON, r.cut.Frame, r.cut.List = nil, nil, false
	switch {
	case frame != nil:
		r.in = input{data: wire.Alias(frame.Data), framing: eventStream}
		r.in.text.starts[0], r.in.text.last = frame.Alone, true
	case cut != nil:
		r.in = input{data: wire.Alias(cut.Text), framing: jsonText}
		r.in.text.starts[0], r.in.text.last = cut.Alone, true
	case r.cut.Code != nil:
		r.in = input{data: "\n", framing: codeLines}
	case s.SSE != nil && s.SSE.Has:
		r.in = input{data: "\n\n", framing: sseText}
	default:
		s.SSE = nil
	}
}

func (r *Reader) begin(s *State, limits Limits) {
	r.state, r.limits, r.named = s, limits, false
	r.in = input{}
	r.takeCut()
	r.since = since{}
	if s.Since != nil {
		r.since.begins = s.Since.Begins
	}
	r.w.Reset()
	r.problem, r.wrong, r.early = nil, nil, nil
	r.templates.Forget()
}

// Next reads the next stream event of the input and reports whether there is
// one. Chunks and Problem then refer to it.
func (r *Reader) Next() bool {
	r.w.Begin()
	r.problem, r.fits, r.filled = nil, false, false
	if r.wrong != nil {
		r.problem, r.wrong = r.wrong, nil
		if r.problem.Input == 0 {
			r.problem.Input = r.inputAt(0)
		}
		return true
	}
	if len(r.early) > 0 {
		r.problem, r.early = &r.early[0], r.early[1:]
		return true
	}
	if format := r.templates.Found(); format != nil { // by open
		if r.fill(format) {
			r.in.framing = nothing
			return true
		}
	}
	p, ok := r.pull()
	if !ok {
		r.keepCut()
		return false
	}
	p.input = r.inputAt(p.base)
	r.read(p)
	if len(r.cut.Early) > 0 && (r.state.Format != "" || r.problem != nil) {
		r.release()
	}
	return true
}

// Chunks returns the chunks of the current event, in wire order. They are valid
// until the next call of Next, their strings until the next Reset.
func (r *Reader) Chunks() []chunks.Chunk { return r.w.Chunks() }

// Problem returns what of the current event was not used, or nil.
func (r *Reader) Problem() *wire.Problem { return r.problem }

// Shape returns the name of the history shape that synthetic results have in a
// session of the current format.
func (r *Reader) Shape() string { return r.state.Shape() }

// read decodes one piece of the input.
func (r *Reader) read(p piece) {
	if p.failure != "" {
		r.w.FailRun("", p.failure)
		return
	}
	if p.fits || p.mayFit() && r.templates.Find(r.state.Format, p.name, p.text) {
		if r.fill(r.templates.Found()) {
			return
		}
		p.valid = true
	}
	f, problem := p.frame()
	if problem == nil {
		f.Share(&r.scan)
		problem = r.decode(p, f)
	}
	if problem == nil {
		if !r.fits { // a template behind one that fits would never be used
			r.learn(p, f)
		}
		return
	}
	problem.Input = p.input
	plain := p.problem == nil && (p.rest || plainText(p.text))
	if plain && r.state.console() {
		return
	}
	if at := p.base - r.in.text.before; at >= 0 && !p.joined {
		problem.Line = r.in.lineOf(p.base)
		problem.Offset += at
	}
	if !plain || !r.hold(p, problem) {
		r.problem = problem
	}
}

// mayFit reports whether a piece may fit a template and was not compared to them.
func (p *piece) mayFit() bool { return !p.valid && !p.rest && p.problem == nil }

// decode decodes the frame of a piece.
func (r *Reader) decode(p piece, f wire.Frame) *wire.Problem {
	if f.Name == "" && f.JSON.IsEmpty() {
		return nil
	}
	before := r.state.Format
	format, problem := r.recognise(f)
	if r.state.Format != before && r.templates.Find(r.state.Format, p.name, p.text) && r.fill(format) {
		return nil // a template of the format that is known now
	}
	if format != nil {
		if problem := r.state.decoder(format).Decode(&r.w, f); problem != nil {
			return problem
		}
		return r.w.Problem()
	}
	if f.Done {
		// Any stream may end in this way, whether its format has it or not.
		r.w.Emit(chunks.Chunk{Kind: chunks.Done})
		return nil
	}
	return problem
}

// fill emits the chunk of an event that fits a template. It reports whether the
// event needs no decoding. As long as no format is recognised, it only needs no check.
func (r *Reader) fill(format *wire.Format) bool {
	if r.state.Format == "" {
		r.templates.Forget()
		return false
	}
	d := r.state.current()
	if d == nil {
		d = r.state.decoder(format)
	}
	r.fits, r.filled = true, r.templates.Fill(&r.w, d)
	return r.filled
}

// learn lets an event that was decoded become a template.
func (r *Reader) learn(p piece, f wire.Frame) {
	if !r.templates.MayLearn(p.text, &r.w) {
		return
	}
	format := find(r.state.Format)
	if format == nil || format.Claims(f) == wire.No {
		return // another format has decoded it
	}
	whole := jsonscan.ValueOf(p.text)
	if whole.IsArray() && !tuple(whole) {
		return // alone it would be a list of events
	}
	place := func(s *wire.SlotFinder, f wire.Frame) (wire.Place, bool) {
		return framePlace(s, wire.Place{Value: whole}, f)
	}
	r.templates.Learn(template.Event{Format: format, Name: p.name, Text: p.text, Frame: f, Place: place}, &r.w, r.state.decoder(format))
}

// framePlace returns the place of a frame in its event; see unwrap.
func framePlace(s *wire.SlotFinder, whole wire.Place, f wire.Frame) (wire.Place, bool) {
	if f.JSON.Raw == whole.Raw {
		return whole, true
	}
	outer := s.Members(whole)
	s.Add(outer.Get("id"), wire.Unread)
	at := outer.Get("data")
	return at, !f.Opened && f.JSON.Raw == at.Raw
}
