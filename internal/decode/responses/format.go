// Package responses reads the stream of OpenAI's Responses API, and of Azure, xAI,
// DeepSeek, LM Studio and other servers that implement it:
// https://platform.openai.com/docs/api-reference/responses-streaming
//
//	response.created{response:{id}}
//	→ response.output_item.added{output_index,item:{type:"function_call",id,call_id,name,arguments:""}}
//	→ response.function_call_arguments.delta{output_index,item_id,delta} … → ….done{arguments}
//	→ response.output_item.done{output_index,item:{…,arguments,status}}
//	→ response.completed | incomplete | failed {response:{output,usage,…}}, or error
//
// The JavaScript SDK of OpenRouter writes the names in camel case, and the Go SDK the
// members of all events. The result of a call names its call_id. Items are identified by their
// output_index, because some proxies send another item id in each event.
package responses

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format openai-responses.
func Format() wire.Format {
	return wire.Format{
		Name: "openai-responses", Shape: "responses",
		Keys:      []string{"type", "output", "role"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

type decoder struct {
	Lane   // of the last event
	Others []Lane
	// Echoes are the user messages that the client of the Realtime API sent, and the
	// server did not repeat yet.
	Echoes int
	Echo   string // id of the last one that the server repeated
}

func (d *decoder) Fields(f *stored.Fields) {
	d.fields(f)
	stored.List(f, "l", &d.Others, (*Lane).fields)
	stored.Number(f, "e", &d.Echoes)
	f.Text("u", &d.Echo)
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	return frame{Writer: w, d: d}.decode(f)
}

func (d *decoder) openMessage() string {
	if d.Open {
		return d.Message
	}
	return ""
}

// contentOf returns the id of the message that content belongs to: the open response
// or, where its beginning was lost, one with the name of its lane.
func (d *decoder) contentOf() string {
	if !d.Open {
		d.reset(d.Name, true)
	}
	return d.Message
}

type frame struct {
	*wire.Writer
	d        *decoder
	realtime bool // the frame is of the Realtime API
}

func (r frame) decode(f wire.Frame) *wire.Problem {
	if f.Done {
		r.Emit(chunks.Chunk{Kind: chunks.Done})
		return nil
	}
	var e event
	e.read(f)
	if (e.kind.Raw == "" || e.kind.Str == "message") && claimsInput(f) != wire.No {
		r.human(f.JSON, false)
		return nil
	}
	switch {
	case e.kind.Raw == "" && e.failure.Present() && f.JSON.Member("object").Raw == "":
		r.failure(e.failure, e.message, e.code)
		return nil
	case e.kind.Raw == "":
		return r.whole(f.JSON)
	}
	r.realtime = !e.numbered.Present() && (e.eventID.Present() || e.responseID.Present())
	if name, ok := strings.CutPrefix(e.kind.Str, "response."); ok {
		if problem, is := r.clientFrame(name, &e, f.JSON); is {
			return problem
		}
		r.d.enter(r.lane(&e))
		return r.event(name, &e, f.JSON)
	}
	switch {
	case e.kind.Str == "error":
		r.errorEvent(&e)
	case ofSession(e.kind.Str):
		return r.sessionEvent(&e)
	case e.kind.Str != "keepalive":
		return r.Result(f.JSON)
	}
	return nil
}

func (r frame) event(name string, e *event, v jsonscan.Value) *wire.Problem {
	switch name {
	case "created", "queued", "in_progress":
		return r.start(name, e.response)
	case "error":
		r.failure(e.failure, e.message, e.code)
	case "completed", "incomplete", "failed", "cancelled":
		return r.end(name, e.response)
	case "done": // the end with any status, from the Realtime API and some proxies
		return r.end(e.response.Member("status").Str, e.response)
	case "output_item.added":
		return r.item(e.index, e.item, itemAdded, jsonscan.Value{})
	case "output_item.done":
		return r.item(e.index, e.item, itemDone, jsonscan.Value{})
	case "function_call_arguments.delta", "mcp_call_arguments.delta", "custom_tool_call_input.delta":
		return r.delta(name, chunks.Chunk{Kind: chunks.Fragment, Index: r.place(e.index, e.itemID)}, e.delta)
	case "function_call_arguments.done", "mcp_call_arguments.done", "custom_tool_call_input.done":
		return r.argsDone(name, e)
	case "shell_call_command.added", "shell_call_command.delta", "shell_call_command.done":
		return r.command(strings.TrimPrefix(name, "shell_call_command."), e)
	case "output_text.delta", "refusal.delta", "output_audio_transcript.delta",
		"text.delta", "audio_transcript.delta": // former names
		return r.delta(name, chunks.Chunk{Kind: chunks.Text, Part: e.number()}, e.delta)
	case "reasoning_text.delta", "reasoning_summary_text.delta":
		return r.delta(name, chunks.Chunk{Kind: chunks.Reasoning, Part: e.number()}, e.delta)
	case "output_text.done", "refusal.done", "output_audio_transcript.done", "text.done", "audio_transcript.done",
		"reasoning_text.done", "reasoning_summary_text.done":
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: r.d.openMessage(), Part: e.number()})
	default: // parts, annotations, and events of tools that the provider runs
		r.Unknown("event", e.kind.Str, v)
	}
	return nil
}

// findSlots finds the slots of a delta. The item_id identifies the item only
// where there is no output_index.
func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	delta, index := wire.TextSlot, wire.NoSlot
	switch f.JSON.Member("type").Str {
	case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta", "response.custom_tool_call_input.delta":
		delta, index = wire.ArgsSlot, wire.IndexSlot
	case "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_text.delta", "response.reasoning_summary_text.delta":
	default:
		return 0, false
	}
	if f.JSON.Member("stream_id").Present() || f.JSON.Member("response_id").Present() {
		return 0, false // it may be of another lane
	}
	item := wire.Unread
	if !f.JSON.Member("output_index").Present() && !f.JSON.Member("outputIndex").Present() {
		item = wire.NoSlot
	}
	s.Walk(at, func(path string) wire.Slot {
		switch path {
		case "sequence_number", "sequenceNumber", "obfuscation":
			return wire.Unread
		case "item_id", "itemId":
			return item
		case "output_index", "outputIndex":
			return index
		case "delta":
			return delta
		}
		return wire.NoSlot
	})
	return 0, true
}

// Fill completes the chunk of a delta, which belongs to the open response.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return d.Open && d.Name == ""
}
