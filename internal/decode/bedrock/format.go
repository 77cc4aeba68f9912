// Package bedrock reads the stream of Amazon Bedrock's ConverseStream:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
//
// Each frame of the event stream is an object whose key is the name of the
// event, as the SDKs return it, or such an object in {"event":{…}}, as Strands
// sends it:
//
//	messageStart{role} → contentBlockStart{contentBlockIndex,start:{toolUse:{toolUseId,name,type?}}}
//	→ contentBlockDelta{contentBlockIndex,delta:{toolUse:{input}}} … → contentBlockStop{contentBlockIndex}
//	→ messageStop{stopReason} → metadata{usage}; an …Exception{message} may come at any time
//
// The events that json.Marshal of the SDK for Go writes are read too. Text blocks have no start. Messages have no id. The result of a tool that the
// provider runs has a block of its own. It also reads the answer of Converse, and
// a user message with toolResult blocks.
//
// Package decode unpacks the frames of InvokeModelWithResponseStream.
package bedrock

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format bedrock.
func Format() wire.Format {
	return wire.Format{
		Name: "bedrock", Shape: "bedrock",
		Keys:      slices.Concat([]string{"event", "stopReason", "role", "Value"}, eventNames[:], exceptionNames[:]),
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.No
	}
	switch kind, payload := readEvent(f); kind {
	case "":
	case "metadata":
		return wire.SurelyIf(payload.Member("usage").Member("inputTokens").Raw != "", wire.Perhaps)
	default:
		return wire.SurelyIf(payload.IsObject(), wire.Perhaps)
	}
	return claimsMessage(f)
}

type decoder struct {
	Block string         // raw index of the open block
	Kind  wire.BlockKind // of the open block
	// Result is the tool result in the open block.
	Result Result
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Text("b", &d.Block)
	stored.Number(f, "k", &d.Kind)
	stored.Object(f, "r", &d.Result, (*Result).fields)
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	kind, e := readEvent(f)
	if kind == "" {
		return d.wholeMessage(w, f.JSON)
	}
	if !e.IsObject() {
		return wire.WrongType(kind, e, "an object")
	}
	if m := f.Members(); m.Next() && m.Key == "Value" {
		e = fromGo(w, e)
	}
	switch kind {
	case "messageStart":
		*d = decoder{}
		w.Emit(chunks.Chunk{Kind: chunks.Start, Role: w.Text(e.Member("role")), Fresh: true})
	case "contentBlockStart":
		return d.startBlock(w, e)
	case "contentBlockDelta":
		return d.delta(w, e)
	case "contentBlockStop":
		n := w.Len()
		d.stopBlock(w, e.Member("contentBlockIndex"))
		if ofStrands(f) {
			w.Drop(n, func(c *chunks.Chunk) bool { return c.Kind == chunks.Seal })
		}
	case "messageStop":
		d.endResult(w)
		*d = decoder{}
		d.finish(w, e.Member("stopReason"))
		if ofStrands(f) {
			w.Since(w.Len() - 1)[0].Restated = chunks.RestatedSoon
		}
	case "metadata":
		if usage := e.Member("usage"); usage.IsObject() {
			w.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: w.Compact(usage.Raw)})
		}
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	default:
		*d = decoder{}
		w.FailRun("", cmp.Or(w.Text(e.Member("message")), w.Text(e.Member("originalMessage")), kind))
	}
	return nil
}

// slots are those of the payload, which may be in its event, and that in {"event"}.
var slots = wire.Slots{
	wire.Unread:    {"p"}, // padding
	wire.BlockSlot: {"contentBlockIndex"},
	wire.TextSlot:  {"delta.text", "delta.reasoningContent.text"},
	wire.ArgsSlot:  {"delta.toolUse.input"},
}

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	kind, _ := readEvent(f)
	s.Walk(at, func(path string) wire.Slot {
		return slots.At(strings.TrimPrefix(strings.TrimPrefix(path, "event."), "contentBlockDelta."))
	})
	return 0, kind == "contentBlockDelta" && s.Has(wire.BlockSlot)
}

// Fill returns false for a text that begins its block.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	return c.Kind == chunks.Fragment || d.Kind == wire.PartBlock && wire.IsIndex(d.Block, c.Part)
}

func claimsMessage(f wire.Frame) wire.Claim {
	var output, stop, role, content jsonscan.Value
	f.Read(output.From("output"), stop.From("stopReason"), role.From("role"), content.From("content"))
	if stop.IsString() && output.Member("message").IsObject() {
		return wire.Surely
	}
	if role.Str == "user" {
		for e := content.Elements(); e.Next(); {
			if e.Value.Member("toolResult").IsObject() {
				return wire.Surely
			}
		}
	}
	return wire.No
}

// ofStrands reports whether an event is one of Strands, which may state the calls of a
// message as a whole after it.
func ofStrands(f wire.Frame) bool { return f.JSON.Member("event").IsObject() }

// readEvent returns the name and the payload of an event. The name is "" where the
// frame is not an event of Bedrock.
func readEvent(f wire.Frame) (kind string, payload jsonscan.Value) {
	if isEvent(f.Name) {
		return f.Name, f.JSON
	}
	alone := true
	for m := f.Members(); m.Next(); {
		switch {
		case m.Key == "Value":
			return goEvent(m.Value)
		case m.Key == "event" && m.Value.IsObject():
			if inner := m.Value.Members(); inner.Next() && isEvent(inner.Key) {
				return inner.Key, inner.Value
			}
			return "", jsonscan.Value{}
		case m.Key == "metadata":
			kind, payload = m.Key, m.Value
		case isEvent(m.Key):
			return m.Key, m.Value
		case m.Key != "p" && !strings.HasPrefix(m.Key, "amazon-bedrock-"): // padding, and what InvokeModelWithResponseStream adds
			alone = false
		}
	}
	if !alone { // other formats have a member metadata too
		return "", jsonscan.Value{}
	}
	return kind, payload
}

// The names of the events and of the exceptions. A stream has both.
var (
	eventNames     = [...]string{"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
	exceptionNames = [...]string{
		"internalServerException", "modelStreamErrorException", "modelTimeoutException",
		"serviceUnavailableException", "throttlingException", "validationException",
	}
)

func isEvent(name string) bool {
	return slices.Contains(eventNames[:], name) || slices.Contains(exceptionNames[:], name)
}
