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
	"streamer/internal/decode/framing"
	"streamer/internal/decode/template"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Limits are the bounds of a Reader.
type Limits struct {
	Event int // bytes of one stream event; if 0, 8 MiB
}

const defaultEvent = 8 << 20

// Reader reads inputs, one after another. The zero value needs a Reset. A Reader
// holds scratch space and should be reused. It is not safe for concurrent use.
type Reader struct {
	// Input is the sequence of the current input, which a Problem with it names.
	Input uint64

	state     *State
	frames    framing.Reader
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
			r.frames.Wrong = &wire.Problem{Code: wire.BadFormat, Text: fmt.Sprintf("there is no format %q; the formats are %s", wire.Clip(format), strings.Join(Names(), ", ")), Input: r.Input}
			return
		}
		s.Format = format
	}
	r.frames.Open(wire.Alias(data))
}

// End begins the end of the stream. What the last input cut is read as if nothing
// could continue it, so most of it is a Problem.
func (r *Reader) End(s *State, limits Limits) {
	r.begin(s, limits)
	r.release()
	r.frames.End()
}

func (r *Reader) begin(s *State, limits Limits) {
	r.state, r.named = s, false
	r.frames.Input, r.frames.Formats = r.Input, (*known)(r)
	if limits.Event <= 0 {
		limits.Event = defaultEvent
	}
	r.frames.Begin(&s.State, limits.Event)
	r.w.Reset()
	r.problem, r.early = nil, nil
	r.templates.Forget()
}

// known answers what framing asks about the formats.
type known Reader

func (k *known) Format() string               { return k.state.Format }
func (k *known) Fits(text string) bool        { return k.templates.Find(k.state.Format, "", text) }
func (k *known) IsEvent(text string) bool     { return certainEvent(text) }
func (k *known) IsList(v jsonscan.Value) bool { return !tuple(v) }

// Next reads the next stream event of the input and reports whether there is
// one. Chunks and Problem then refer to it.
func (r *Reader) Next() bool {
	r.w.Begin()
	r.problem, r.fits, r.filled = nil, false, false
	if r.frames.Wrong != nil {
		r.problem, r.frames.Wrong = r.frames.Wrong, nil
		if r.problem.Input == 0 {
			r.problem.Input = r.frames.InputAt(0)
		}
		return true
	}
	if len(r.early) > 0 {
		r.problem, r.early = &r.early[0], r.early[1:]
		return true
	}
	if format := r.templates.Found(); format != nil && r.fill(format) { // by Open
		r.frames.Skip()
		return true
	}
	p, ok := r.frames.Next()
	if !ok {
		return false
	}
	r.read(&p)
	if len(r.frames.Cut.Early) > 0 && (r.state.Format != "" || r.problem != nil) {
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

func (r *Reader) read(p *framing.Event) {
	if p.Failure != "" {
		r.w.FailRun("", p.Failure)
		return
	}
	compared := p.Valid || p.Rest || p.Problem != nil // to the templates, or not worth it
	if p.Fits || !compared && r.templates.Find(r.state.Format, p.Name, p.Text) {
		if r.fill(r.templates.Found()) {
			return
		}
		p.Valid = true
	}
	f, problem := frameOf(*p)
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
	problem.Input = p.Input
	plain := p.Problem == nil && (p.Rest || plainText(p.Text))
	if plain && r.state.console() {
		return
	}
	r.frames.Locate(p, problem)
	if !plain || !r.hold(p, problem) {
		r.problem = problem
	}
}

func (r *Reader) decode(p *framing.Event, f wire.Frame) *wire.Problem {
	if f.Name == "" && f.JSON.IsEmpty() {
		return nil
	}
	before := r.state.Format
	format, problem := r.recognise(f)
	if r.state.Format != before && r.templates.Find(r.state.Format, p.Name, p.Text) && r.fill(format) {
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
	r.fits, r.filled = true, r.templates.Fill(&r.w, r.state.decoder(format))
	return r.filled
}

func (r *Reader) learn(p *framing.Event, f wire.Frame) {
	if !r.templates.MayLearn(p.Text, &r.w) {
		return
	}
	format := find(r.state.Format)
	if format == nil || format.Claims(f) == wire.No {
		return // another format has decoded it
	}
	whole := jsonscan.ValueOf(p.Text)
	if whole.IsArray() && !tuple(whole) {
		return // alone it would be a list of events
	}
	place := func(s *wire.SlotFinder, f wire.Frame) (wire.Place, bool) {
		return framePlace(s, wire.Place{Value: whole}, f)
	}
	r.templates.Learn(template.Event{Format: format, Name: p.Name, Text: p.Text, Frame: f, Place: place}, &r.w, r.state.decoder(format))
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

// Problem describes a part of an input that was not used, and why. The rest of
// the input was used.
type Problem = wire.Problem

// The codes of a Problem that callers distinguish.
const (
	BadJSON = wire.BadJSON
	BadUTF8 = wire.BadUTF8
)
