// Package vercelui reads the UI message stream of Vercel's AI SDK:
// https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
//
//	start{messageId?} → start-step → tool-input-start{toolCallId,toolName} → tool-input-delta{toolCallId,inputTextDelta}
//	→ tool-input-available{toolCallId,toolName,input} → tool-output-available{toolCallId,output} → finish-step → finish → [DONE]
//
// It also reads the parts of fullStream, which have other names for some fields
// and have tool-input-end, tool-call, tool-result and tool-error, and the parts of
// version 4: tool-call-streaming-start, tool-call-delta{argsTextDelta},
// tool-call{args} and tool-result{result} between step-start and step-finish. The
// fullStream of Mastra has these parts as {"type","runId","from","payload":{…}}.
//
// A stream is a run. A step is an answer of the model: a message of its own, with
// the id of the UI message, which all steps share. The finish reason of a step may
// come only at the end of the stream, so a step ends when the next step begins.
//
// writer.merge joins streams: steps of one begin and end in the middle of those of the
// other. As long as the input of a call is on its way and its step is open, no step begins
// or ends, and what comes belongs to the message of the open one.
package vercelui

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Format returns the format vercel-ui.
func Format() wire.Format {
	return wire.Format{
		Name: "vercel-ui", Shape: "openai",
		Keys:      []string{"type"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	kind := f.Type()
	var e event
	if !strings.HasPrefix(kind, "tool-input-") { // these are frequent, and the name is enough
		e.read(f)
	}
	switch {
	case e.path.IsArray(): // of assistant-transport
		return wire.No
	case e.mastra && e.kind.Str != kind:
		return wire.Surely
	case strings.HasPrefix(kind, "tool-input-"), strings.HasPrefix(kind, "tool-output-"), strings.HasPrefix(kind, "tool-approval-"),
		kind == "start-step", kind == "finish-step", kind == "reset-step":
		return wire.Surely
	case kind == "tool-call", kind == "tool-result", kind == "tool-error", kind == "tool-call-suspended":
		return wire.SurelyIf(e.call.IsString(), wire.Perhaps)
	case strings.HasPrefix(kind, "text-"), strings.HasPrefix(kind, "reasoning-"):
		return wire.SurelyIf(e.id.IsString(), wire.Perhaps)
	case kind == "start":
		return wire.SurelyIf(e.message.IsString(), wire.Perhaps)
	case kind == "finish":
		return wire.SurelyIf(e.finish.IsString(), wire.Perhaps)
	case kind == "error":
		return wire.SurelyIf(e.text.IsString(), wire.Perhaps)
	case kind == "tool-call-streaming-start", kind == "step-finish":
		return wire.Surely
	case kind == "tool-call-delta":
		return wire.SurelyIf(e.delta.IsString() && e.call.IsString(), wire.Perhaps) // the delta of Cohere is an object
	case kind == "abort", kind == "file", kind == "step-start", kind == "stream-start", kind == "response-metadata", kind == "custom", kind == "raw", kind == "message-metadata", kind == "steering-message",
		strings.HasPrefix(kind, "data-"), strings.HasPrefix(kind, "source"):
		return wire.Perhaps
	case e.mastra:
		return wire.IfKnown
	}
	return wire.No
}

// decoder decodes the events of a session. Its fields are the state between events.
type decoder struct {
	Message string // id of the UI message
	Open    bool   // a stream has begun and not ended
	Stepped bool   // a step of the stream has begun
	Steps   int    // number of open steps, more than one where streams are merged
	Others  int    // number of open streams that began in a step of another one
	Plain   string // id of the call whose input is free text
	Parts   []Part // open content parts
	Part    int    // number of the latest part
	// Inputs are the calls whose input has begun, and did not come as a whole yet.
	Inputs wire.IDs
	Asks   []Ask    // the approvals that were requested and not answered
	Denied wire.IDs // the calls that were denied by an answer
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Text("m", &d.Message)
	f.Flag("o", &d.Open)
	f.Flag("s", &d.Stepped)
	stored.Number(f, "c", &d.Steps)
	stored.Number(f, "b", &d.Others)
	f.Text("x", &d.Plain)
	stored.List(f, "p", &d.Parts, (*Part).fields)
	stored.Number(f, "n", &d.Part)
	d.Inputs.Fields(f, "i")
	stored.List(f, "a", &d.Asks, (*Ask).fields)
	d.Denied.Fields(f, "d")
}

// next returns the state at the end of a stream. Approvals are answered in a later one.
func (d *decoder) next(message string) decoder {
	return decoder{Message: message, Asks: d.Asks, Denied: d.Denied}
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	if f.Done {
		w.Emit(chunks.Chunk{Kind: chunks.Done})
		return nil
	}
	var e event
	e.read(f)
	switch kind := e.kind.Str; {
	case strings.HasPrefix(kind, "tool-"):
		return d.tool(w, &e, f.JSON)
	case kind == "reasoning-file":
	case kind == "steering-message":
		w.Emit(chunks.Chunk{Kind: chunks.Human, ID: w.Text(e.id), Text: w.PlainText(e.parts), Aside: true})
	case strings.HasPrefix(kind, "text-"):
		return d.contentEvent(w, &e, chunks.Text, kind[len("text-"):])
	case strings.HasPrefix(kind, "reasoning-"):
		return d.contentEvent(w, &e, chunks.Reasoning, kind[len("reasoning-"):])
	case kind == "start":
		d.start(w, &e)
	case kind == "start-step":
		d.startStep(w)
	case kind == "finish-step":
		d.finishStep(w, &e)
	case kind == "reset-step": // the content of the step is void, and the step begins again
		d.Inputs = nil
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: d.Message, Text: "the step was reset"})
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
	case kind == "finish":
		d.finish(w, &e)
	case kind == "abort":
		*d = d.next(d.Message)
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: w.Text(e.reason)})
	case kind == "error": // finish-step and finish may follow
		*d = d.next(d.Message)
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: w.FailureText(e.failure)})
	case e.mastra: // of a workflow, or of an agent that a tool runs
		w.Unknown("event", kind, f.JSON)
	}
	return nil
}

// findSlots finds the slots of a delta of a call, a text or a reasoning. The
// parts of the fullStream name the call with id.
func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	id, delta := "id", wire.TextSlot
	switch f.JSON.Member("type").Str {
	case "text-delta", "reasoning-delta":
	case "tool-input-delta", "tool-call-delta":
		delta = wire.ArgsSlot
		if f.JSON.Member("toolCallId").Present() {
			id = "toolCallId"
		}
	default:
		return 0, false
	}
	prefix := ""
	if payload := f.JSON.Member("payload"); payload.IsObject() { // of Mastra
		if prefix = "payload."; payload.Member("toolCallId").Present() {
			id = "toolCallId"
		}
	}
	s.Walk(at, func(path string) wire.Slot {
		switch path, inside := strings.CutPrefix(path, prefix); {
		case !inside:
		case path == id:
			return wire.CallSlot
		case path == "delta", path == "inputTextDelta", path == "text", path == "argsTextDelta":
			return delta
		}
		return wire.NoSlot
	})
	return 0, true
}

// Fill completes the chunk of a delta, which belongs to the current message. The
// id of a text is that of its part, which must be open.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	if c.Kind == chunks.Fragment {
		return true
	}
	c.Part, c.ID = d.openPart(c.ID), ""
	return c.Part > 0
}
