package anthropic

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Block emits a whole content block. The chunk of has the message, and the index and
// the part of the block.
func Block(w *wire.Writer, of chunks.Chunk, block jsonscan.Value) *wire.Problem {
	of.Whole = true
	_, problem := new(Decoder).block(w, of, block)
	return problem
}
