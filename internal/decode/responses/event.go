package responses

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// event is the members of an event of any type.
type event struct {
	kind, index, itemID, part, delta, arguments, item, response, failure, message, code jsonscan.Value
	// of a WebSocket
	stream, previous, eventID, responseID, transcript, numbered jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "type":
			e.kind = m.Value
		case "output_index":
			e.index = m.Value
		case "item_id":
			e.itemID = m.Value
		case "content_index", "summary_index":
			e.part = m.Value
		case "delta":
			e.delta = m.Value
		case "arguments", "input":
			e.arguments = m.Value
		case "item":
			e.item = m.Value
		case "response":
			e.response = m.Value
		case "error":
			e.failure = m.Value
		case "message":
			e.message = m.Value
		case "code":
			e.code = m.Value
		case "stream_id":
			e.stream = m.Value
		case "previous_response_id":
			e.previous = m.Value
		case "event_id":
			e.eventID = m.Value
		case "response_id":
			e.responseID = m.Value
		case "transcript":
			e.transcript = m.Value
		case "sequence_number":
			e.numbered = m.Value
		}
	}
}

// place returns the value that identifies the item of an event: its output_index,
// or its id where a server omits the index.
func (e *event) place() jsonscan.Value {
	if e.index.Present() {
		return e.index
	}
	return e.itemID
}

// partsOfItem is a number larger than the number of parts of any item.
const partsOfItem = 1 << 12

// number returns the number of a content part in the response.
func (e *event) number() int { return e.index.Int()*partsOfItem + e.part.Int() }

// delta emits a piece of args or of text.
func (r reader) delta(name string, of chunks.Chunk, delta jsonscan.Value) *wire.Problem {
	if !delta.IsString() {
		return wire.WrongType("delta of response."+name, delta, "a string")
	}
	s := r.Text(delta)
	if s == "" {
		return nil
	}
	if of.Message = r.d.contentOf(); of.Kind == chunks.Fragment {
		of.Args = s
	} else {
		of.Text = s
	}
	r.Emit(of)
	return nil
}

// argsDone ends the args of a call. The event repeats all args. They are used where
// there were no deltas (LM Studio). Where deltas were lost and the args are not
// JSON, the end of the item replaces them.
func (r reader) argsDone(name string, e *event) *wire.Problem {
	free := name == "custom_tool_call_input.done"
	if free && !e.arguments.Present() {
		return nil
	}
	if !e.arguments.IsString() {
		return wire.WrongType("arguments of response."+name, e.arguments, "a string")
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: r.d.contentOf(), Index: wire.RawIndex(e.place())}
	args := r.Text(e.arguments)
	if !free && strings.TrimSpace(args) != "" && !wire.Valid(args) {
		return nil // the answer is truncated
	}
	if args != "" {
		c.Args, c.Object, c.Weak = args, true, true
		r.Emit(c)
	}
	// Only the end of the item shows whether free text is complete, and has the name
	// of a call whose beginning was lost.
	// A response of the Realtime API that is cancelled before the first byte ends them too.
	if !free && r.d.begun(c.Index) && (args != "" || !r.realtime) {
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, Index: c.Index})
	}
	return nil
}
