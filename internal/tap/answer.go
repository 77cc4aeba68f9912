package tap

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode"
)

// maxAnswer bounds what is kept of an answer's text and of the args of each of its calls.
const maxAnswer = 256 << 10

// answer is what the next requests may refer to of an answer.
type answer struct {
	id    string
	begun bool // it has content
	whole bool // its end was read
	text  strings.Builder
	calls []*answerCall

	state  decode.State
	reader decode.Reader
}

type answerCall struct {
	index, id, name string
	args            strings.Builder
}

// read reads a piece of the answer.
func (a *answer) read(data []byte, format string) {
	a.reader.Reset(&a.state, data, format, decode.Limits{})
	for a.reader.Next() {
		for _, c := range a.reader.Chunks() {
			a.chunk(&c)
		}
	}
}

func (a *answer) chunk(c *chunks.Chunk) {
	if c.Message != "" && a.id == "" {
		a.id = strings.Clone(c.Message)
	}
	switch c.Kind {
	case chunks.Text:
		a.begun, a.whole = true, false
		if a.text.Len() < maxAnswer {
			a.text.WriteString(c.Text)
		}
	case chunks.Reasoning:
		a.begun = true
	case chunks.Finish, chunks.Failure, chunks.RunEnd:
		a.begun, a.whole = true, true
	case chunks.Fragment:
		a.begun, a.whole = true, false
		a.fragment(c)
	}
}

func (a *answer) fragment(c *chunks.Chunk) {
	var call *answerCall
	for _, known := range a.calls {
		if c.ID != "" && known.id == c.ID || c.ID == "" && known.index == c.Index {
			call = known
		}
	}
	if call == nil {
		call = &answerCall{index: strings.Clone(c.Index), id: strings.Clone(c.ID)}
		a.calls = append(a.calls, call)
	}
	if call.name == "" {
		call.name = strings.Clone(c.Name)
	}
	if c.Object && !c.Weak {
		call.args.Reset()
	}
	if !c.Weak && call.args.Len() < maxAnswer {
		call.args.WriteString(c.Args)
	}
}
