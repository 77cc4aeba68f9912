// Package decode turns the bytes of stream events, in any provider's format,
// into chunks. Each format is one file and one line in the list formats.
//
// What decoding has to remember between inputs is a Memory, a value that is
// saved with the session. A Reader gives chunks in wire order and goes on
// behind whatever it cannot use; it never fails as a whole, and its work is
// linear in the bytes it reads.
package decode

import (
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
}

// format is one provider's shape.
type format struct {
	name string
	// claims tells whether a frame can be of this format: no, perhaps (it
	// carries too little to tell), or surely.
	claims func(f Frame) claim
	// decode emits the chunks of a frame. A Problem it returns has Offset and
	// Line filled in by the Reader.
	decode func(r *Reader, f Frame) *Problem
}

type claim uint8

const (
	no claim = iota
	perhaps
	surely
)

// emit appends a chunk to those of the current frame.
func (r *Reader) emit(c chunks.Chunk) { r.out = append(r.out, c) }
