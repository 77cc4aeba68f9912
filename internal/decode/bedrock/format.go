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
// Text blocks have no start. Messages have no id. The result of a tool that the
// provider runs has a block of its own. It also reads the answer of Converse, and
// a user message with toolResult blocks.
//
// Package decode unpacks the frames of InvokeModelWithResponseStream.
package bedrock

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Format returns the format bedrock.
func Format() wire.Format {
	return wire.Format{
		Name: "bedrock", Shape: "bedrock",
		Keys:      slices.Concat([]string{"event", "stopReason", "role"}, eventNames[:], exceptionNames[:]),
		Claims:    claims,
		New:       func() wire.Decoder { return new(Decoder) },
		FindSlots: findSlots,
	}
}

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.No
	}
	switch kind, payload := readEvent(f); {
	case kind == "":
	case kind == "metadata":
		if payload.Member("usage").Member("inputTokens").Raw != "" {
			return wire.Surely
		}
		return wire.Perhaps
	case payload.IsObject():
		return wire.Surely
	default:
		return wire.Perhaps
	}
	return claimsMessage(f)
}

// Decoder decodes the events of a session. Its fields are the state between
// events.
type Decoder struct {
	Block string         // raw index of the open block
	Kind  wire.BlockKind // of the open block
	// Result is the tool result in the open block.
	Result Result
}

// Fields visits the members of the stored form.
func (d *Decoder) Fields(f *stored.Fields) {
	f.Text("b", &d.Block)
	stored.Number(f, "k", &d.Kind)
	stored.Object(f, "r", &d.Result, (*Result).fields)
}

// Decode emits the chunks of a frame.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	kind, e := readEvent(f)
	if kind == "" {
		return d.wholeMessage(w, f.JSON)
	}
	if !e.IsObject() {
		return wire.WrongType(kind, e, "an object")
	}
	switch kind {
	case "messageStart":
		*d = Decoder{}
		w.Emit(chunks.Chunk{Kind: chunks.Start, Role: w.Text(e.Member("role")), Fresh: true})
	case "contentBlockStart":
		return d.startBlock(w, e)
	case "contentBlockDelta":
		return d.delta(w, e)
	case "contentBlockStop":
		d.stopBlock(w, e.Member("contentBlockIndex"))
	case "messageStop":
		d.endResult(w)
		*d = Decoder{}
		d.finish(w, e.Member("stopReason"))
	case "metadata":
		if usage := e.Member("usage"); usage.IsObject() {
			w.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: w.Compact(usage.Raw)})
		}
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	default:
		*d = Decoder{}
		w.FailRun("", d.failureText(w, kind, e))
	}
	return nil
}
