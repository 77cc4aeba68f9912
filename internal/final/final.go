// Package final writes the ends of answers of models: the orderly answer of a proxy that does
// not ask the model, and what follows an answer under way that is ended before its time. What
// each client does with them was measured with real agents: docs/tap.md has the table.
//
// A format is one file and one line in formats.
package final

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Request is what an answer depends on.
type Request struct {
	Format  string // as in the header Streamer-Format
	Type    string // media type of the answer; that of JSON Lines for the frames of a WebSocket
	Model   string // as the request names it
	ID      string // unique, of the answer and what is in it
	Text    string // that the answer has; not empty, or clients ask again
	Time    int64  // Unix seconds
	Usage   bool   // the client asked for a chunk with the usage
	Inner   bool   // of Gemini: answers are in the member response
	Repairs bool   // the client executes calls whose args are cut, whatever the end says
}

// End is how an answer under way ends.
type End struct {
	Tail []byte   // follows what was sent
	Cut  bool     // the connection is cut behind what was sent
	Out  []string // ids of the calls whose ends were sent
	Said string   // text that was sent
}

// answer is the state of an answer: what was sent of it.
type answer interface {
	// read reads an event that was sent.
	read(e gjson.Result)
	// rest returns the events that end the answer in order, and cut if none do.
	rest(r *Request) (events []string, cut bool)
	// seen returns what all formats know of an answer.
	seen() *common
}

// common is the part of the state that all formats have.
type common struct {
	said  strings.Builder // text
	calls []call
	ended bool // the last event was sent
}

func (c *common) seen() *common { return c }

// call is a call that a client executes.
type call struct {
	index, id string
	out       bool // its end was sent
}

// begin records a call, unless it is known.
func (c *common) begin(index, id string) {
	if !slices.ContainsFunc(c.calls, func(k call) bool { return k.index == index }) {
		c.calls = append(c.calls, call{index: index, id: id})
	}
}

// finish records that the end of a call was sent.
func (c *common) finish(index string) {
	for i := range c.calls {
		c.calls[i].out = c.calls[i].out || c.calls[i].index == index
	}
}

// out returns the ids of the calls that the client has, and reports whether there are others.
func (c *common) out() (ids []string, begun bool) {
	for _, k := range c.calls {
		if k.out {
			ids = append(ids, k.id)
		} else {
			begun = true
		}
	}
	return ids, begun
}

// format is the ends of a wire format.
type format struct {
	name  string
	new   func() answer
	whole func(r *Request) string // the answer that is no stream
	named bool                    // each event of SSE has its type before it
	line  string                  // ends a line of SSE
}

var formats = [...]format{
	{"anthropic", func() answer { return &anthropic{open: -1} }, anthropicWhole, true, "\n"},
	{"openai-chat", func() answer { return &chat{} }, chatWhole, false, "\n"},
	{"openai-responses", func() answer { return &responses{sequence: -1} }, responsesWhole, true, "\n"},
	{"gemini", func() answer { return &gemini{} }, geminiWhole, false, "\r\n"},
	{"ollama", func() answer { return &ollama{} }, ollamaWhole, false, "\n"},
	{"cohere", func() answer { return &cohere{} }, cohereWhole, true, "\n"},
	{"bedrock", func() answer { return &bedrock{} }, bedrockWhole, false, "\n"},
}

func formatOf(name string) *format {
	for i := range formats {
		if formats[i].name == name {
			return &formats[i]
		}
	}
	return nil
}

// Answer returns a whole answer with the text of a request, nil for an unknown format.
func Answer(r Request) []byte {
	f := formatOf(r.Format)
	switch {
	case f == nil:
		return nil
	case r.Type == JSON:
		return []byte(f.whole(&r))
	}
	return EndOf(r, nil).Tail
}

// EndOf returns the end of an answer of which some was sent, decompressed, up to the end of an
// event. Where nothing was, it is the whole answer of Answer.
func EndOf(r Request, sent []byte) End {
	f := formatOf(r.Format)
	if f == nil {
		return End{Cut: true}
	}
	if r.Type == JSON { // a whole answer holds nothing that was executed
		if len(sent) > 0 {
			return End{Cut: true}
		}
		return End{Tail: []byte(f.whole(&r))}
	}
	a := f.new()
	events(r.Type, sent, a.read)
	c := a.seen()
	e := End{Said: c.said.String()}
	out, begun := c.out()
	if e.Out = out; c.ended {
		return e
	}
	if begun && r.Repairs {
		e.Cut = true
		return e
	}
	list, cut := a.rest(&r)
	if e.Cut = cut; !cut {
		e.Tail = framed(r.Type, f, sent, list)
	}
	return e
}

// quote returns a text as JSON, as gjson writes it.
func quote(text string) string { return string(gjson.AppendJSONString(nil, text)) }

// with returns an object in which members have other values, in JSON. Names and values
// alternate. A new member is at the end.
func with(object gjson.Result, pairs ...string) string {
	var b strings.Builder
	b.WriteByte('{')
	add := func(name, value string) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(name + ":" + value)
	}
	done := make([]bool, len(pairs)/2)
	object.ForEach(func(k, v gjson.Result) bool {
		for i := 0; i < len(pairs); i += 2 {
			if k.Str == pairs[i] {
				done[i/2] = true
				add(k.Raw, pairs[i+1])
				return true
			}
		}
		add(k.Raw, v.Raw)
		return true
	})
	for i := 0; i < len(pairs); i += 2 {
		if !done[i/2] {
			add(quote(pairs[i]), pairs[i+1])
		}
	}
	b.WriteByte('}')
	return b.String()
}

// behind returns the text of a request as it follows a text.
func behind(said, text string) string {
	if said == "" {
		return text
	}
	return "\n\n" + text
}
