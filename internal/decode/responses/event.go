package responses

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type event struct {
	kind, index, itemID, part, delta, arguments, input, command, at, item, response, failure, message, code jsonscan.Value
	// of a WebSocket
	stream, previous, eventID, responseID, transcript, numbered jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.kind.From("type"), e.index.From("output_index"), e.itemID.From("item_id"),
		e.part.From("content_index"), e.part.From("summary_index"), e.delta.From("delta"),
		e.arguments.From("arguments"), e.input.From("input"), e.item.From("item"),
		e.response.From("response"), e.failure.From("error"), e.message.From("message"),
		e.code.From("code"), e.stream.From("stream_id"), e.previous.From("previous_response_id"),
		e.eventID.From("event_id"), e.responseID.From("response_id"), e.transcript.From("transcript"),
		e.numbered.From("sequence_number"), e.command.From("command"), e.at.From("command_index"),
		// of the JavaScript SDK of OpenRouter
		e.index.From("outputIndex"), e.itemID.From("itemId"), e.part.From("contentIndex"), e.part.From("summaryIndex"),
		e.at.From("commandIndex"),
		e.numbered.From("sequenceNumber"),
	)
}

// place returns the place of an item: its output_index, or its id where a server omits
// the index.
func (r frame) place(index, id jsonscan.Value) string {
	if !index.Present() && id.Present() {
		return r.Join(string(chunks.Place), id.Raw)
	}
	return wire.RawIndex(index)
}

// partsOfItem is a number larger than the number of parts of any item.
const partsOfItem = 1 << 12

func (e *event) number() int { return e.index.Int()*partsOfItem + e.part.Int() }

func (r frame) delta(name string, of chunks.Chunk, delta jsonscan.Value) *wire.Problem {
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

// argsDone ends the args of a call. The event repeats all args, and heals them where deltas
// were lost or not sent (LM Studio). Only the end of the item shows whether free text is
// complete, and has the name of a call whose beginning was lost.
func (r frame) argsDone(name string, e *event) *wire.Problem {
	free, whole := name == "custom_tool_call_input.done", e.arguments
	if free {
		whole = e.input
	}
	if free && !whole.Present() {
		return nil
	}
	if !whole.IsString() {
		return wire.WrongType("arguments of response."+name, whole, "a string")
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: r.d.contentOf(), Index: r.place(e.index, e.itemID)}
	args := r.Text(whole)
	if !free && strings.TrimSpace(args) != "" && !wire.Valid(args) {
		return nil // the answer is truncated
	}
	at := slices.IndexFunc(r.d.Calls, func(call Call) bool { return call.Index == c.Index && !call.Done })
	switch c.Args = args; {
	case args != "" && at >= 0 && !free:
		c.ID, c.Whole, c.Final = r.d.Calls[at].ID, true, true
		r.Emit(c)
	case args != "":
		c.Object, c.Weak = true, true
		r.Emit(c)
	case at >= 0 && !free && !r.realtime:
		// A response of the Realtime API that is cancelled before the first byte ends them too.
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, Index: c.Index})
	}
	return nil
}
