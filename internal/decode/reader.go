// Package decode turns the bytes of stream events, in any provider's format,
// into chunks. Each format is one file and one line in the list formats.
//
// What decoding has to remember between inputs is a Memory, a value that is
// saved with the session. A Reader gives chunks in wire order and goes on
// behind whatever it cannot use; it never fails as a whole, and its work is
// linear in the bytes it reads.
package decode

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Problem says why a piece of an input was not used. The rest was.
type Problem struct {
	Code   Code
	Offset int // bytes from the start of the input to the trouble
	Line   int // 1-based line of an input of several lines, else 0
	Text   string
}

// Code is the kind of a Problem.
type Code string

// The codes; they are those of rejected events.
const (
	BadJSON   Code = "bad_json"
	BadUTF8   Code = "bad_utf8"
	BadFormat Code = "unknown_format"
	BadShape  Code = "bad_shape"
	OverLimit Code = "over_limit"
)

// Frame is one stream event.
type Frame struct {
	Name string // of an SSE event, "" where there is none
	JSON gjson.Result
	Done bool // the literal [DONE]; JSON is empty
	// Opened: it was packed as Bedrock packs the events of other formats.
	Opened bool
}

// format is one provider's shape.
type format struct {
	name string
	// claims tells whether a frame can be of this format: no, only if the
	// format is known already, perhaps (it carries too little to tell), or
	// surely.
	claims func(f Frame) claim
	// decode emits the chunks of a frame. A Problem it returns has Offset and
	// Line filled in by the Reader.
	decode func(r *Reader, f Frame) *Problem
}

type claim uint8

const (
	no      claim = iota
	ifKnown       // never a reason to take the format for that of the stream
	perhaps
	surely
)

// Limits bound what a Reader holds.
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

// Reader reads inputs, one after another. The zero value needs a Reset; it
// holds scratch space and is worth using again. It is not safe for use by
// several goroutines.
type Reader struct {
	mem     *Memory
	limits  Limits
	in      input
	wrong   *Problem // with the whole input
	out     []chunks.Chunk
	problem *Problem
	scratch []byte
	halves  bool // a text of the event may hold half of a surrogate pair
	named   bool // the format of the input is given
	moulds  moulds
}

const keptScratch = 1 << 20

// Reset begins an input: one stream event as JSON, a JSON array of them,
// NDJSON, or raw SSE text, which may be cut anywhere between inputs. The data
// must not change until the next Reset; strings of the chunks may share it.
//
// A format that is not "" must be one of Names and is remembered in m. All
// events of the input are of it; one that cannot be is a Problem. Else the
// remembered one stands as long as events may be of it, and the format is
// recognised where there is none or an event is surely of another.
func (r *Reader) Reset(m *Memory, data []byte, format string, limits Limits) {
	r.mem, r.limits = m, limits
	r.out, r.problem, r.wrong, r.moulds.fit = r.out[:0], nil, nil, nil
	if cap(r.scratch) > keptScratch {
		r.scratch = nil
	}
	r.scratch = r.scratch[:0]
	r.in = input{}
	r.named = format != ""
	if r.named {
		if find(format) == nil {
			r.wrong = &Problem{Code: BadFormat, Text: fmt.Sprintf("there is no format %q; the formats are %s", clip(format), strings.Join(Names(), ", "))}
			return
		}
		m.Format = format
	}
	r.open(alias(data))
}

// Next goes to the next stream event of the input and tells whether there is
// one. Chunks and Problem then speak of it.
func (r *Reader) Next() bool {
	r.out, r.problem = r.out[:0], nil
	if r.wrong != nil {
		r.problem, r.wrong = r.wrong, nil
		return true
	}
	r.halves = false
	if r.moulds.fit != nil { // the input is an event that open knows already
		r.in.framing = nothing
		r.pour()
	} else {
		p, ok := r.pull()
		if !ok {
			return false
		}
		r.read(p)
	}
	if r.halves {
		r.out = whole(r.out)
	}
	return true
}

// Chunks gives what the current event says, in wire order. They hold until the
// next call of Next, their strings until the next Reset.
func (r *Reader) Chunks() []chunks.Chunk { return r.out }

// Problem says what of the current event was not used, or is nil.
func (r *Reader) Problem() *Problem { return r.problem }

// emit appends a chunk to those of the current frame.
func (r *Reader) emit(c chunks.Chunk) { r.out = append(r.out, c) }

// read decodes one piece of the input.
func (r *Reader) read(p piece) {
	if !p.valid && p.problem == nil && r.moulds.find(r.mem.Format, p.name, p.text) {
		r.pour()
		return
	}
	f, problem := p.frame()
	if problem == nil {
		problem = r.decode(f)
	}
	if problem == nil {
		r.learn(p, f)
		return
	}
	problem.Line = p.line
	problem.Offset += p.base
	r.problem = problem
}

func (r *Reader) decode(f Frame) *Problem {
	fm, problem := r.recognise(f)
	if fm != nil {
		return fm.decode(r, f)
	}
	if f.Done {
		// Any stream may end so, whether its format knows it or not.
		r.emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	return problem
}
