// Package agui reads the AG-UI protocol, 1.0 and earlier:
// https://docs.ag-ui.com/concepts/events
//
//	RUN_STARTED{runId} → TEXT_MESSAGE_START{messageId,role} → TEXT_MESSAGE_CONTENT{messageId,delta} → TEXT_MESSAGE_END
//	→ TOOL_CALL_START{toolCallId,toolCallName,parentMessageId?} → TOOL_CALL_ARGS{toolCallId,delta} → TOOL_CALL_END{toolCallId}
//	→ TOOL_CALL_RESULT{toolCallId,content} → RUN_FINISHED{outcome?} or RUN_ERROR{message}
//
// TEXT_MESSAGE_CHUNK, TOOL_CALL_CHUNK and REASONING_MESSAGE_CHUNK need no start. The
// text or call ends at any other event of the conversation. A message has no end
// event: it ends when another message begins in its namespace, which is the
// subagentRunId.
//
// Adapters leave out args, and glue those of parallel calls: MESSAGES_SNAPSHOT has them as
// a whole. A call that ends without args, or with args that are no JSON, is therefore not
// complete before a snapshot or the end of its run. An agent that a client connects to
// again may send a finished run once more, with the same ids.
package agui

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Format returns the format ag-ui.
func Format() wire.Format {
	return wire.Format{
		Name: "ag-ui", Shape: "openai",
		Keys:      []string{"type"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

func claims(f wire.Frame) wire.Claim {
	kind := f.Type()
	switch kind {
	case "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT":
		return wire.Surely
	case "RAW", "CUSTOM", "META_EVENT":
		return wire.Perhaps
	}
	if silent(kind) || wire.HasAnyPrefix(kind, "TOOL_CALL_", "TEXT_MESSAGE_") {
		return wire.Surely
	}
	return claimsUnknown(kind, f)
}

// silent reports whether a type is of a family whose events have no calls.
func silent(kind string) bool {
	return wire.HasAnyPrefix(kind, "STEP_", "STATE_", "REASONING_", "THINKING_", "ACTIVITY_", "SUBAGENT_")
}

// claimsUnknown claims an event of a type that the protocol does not have, or does not
// have yet. It is passed over.
func claimsUnknown(kind string, f wire.Frame) wire.Claim {
	if kind == "" {
		return wire.No
	}
	for i := range len(kind) {
		if c := kind[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return wire.IfNoOther
		}
	}
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "threadId", "runId", "messageId", "toolCallId", "subagentRunId", "rawEvent":
			return wire.Perhaps
		}
	}
	return wire.IfNoOther
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	return frame{w, d, w.Text(e.subagent)}.event(&e, f)
}

type frame struct {
	*wire.Writer
	d  *decoder
	ns string // namespace of the event
}

func (r frame) event(e *event, f wire.Frame) *wire.Problem {
	r.closeChunks(e)
	switch {
	case isCall(e.kind):
		return r.call(e)
	case strings.HasPrefix(e.kind, "TEXT_MESSAGE_"):
		return r.contentEvent(e, textItem, e.kind[len("TEXT_MESSAGE_"):])
	case strings.HasPrefix(e.kind, "REASONING_MESSAGE_"):
		return r.contentEvent(e, reasoningItem, e.kind[len("REASONING_MESSAGE_"):])
	case strings.HasPrefix(e.kind, "THINKING_TEXT_MESSAGE_"):
		return r.contentEvent(e, reasoningItem, e.kind[len("THINKING_TEXT_MESSAGE_"):])
	case strings.HasPrefix(e.kind, "SUBAGENT_"):
		r.subagent(e)
	}
	switch e.kind {
	case "RUN_STARTED":
		return r.runStarted(e)
	case "RUN_FINISHED":
		return r.runFinished(e)
	case "RUN_ERROR":
		r.runError(e)
	case "MESSAGES_SNAPSHOT":
		return r.snapshot(e.messages, len(r.d.Namespaces) == 0)
	case "CUSTOM":
		if e.name.Str == "on_interrupt" { // from the adapters of LangGraph
			r.d.Asked = true
			r.Emit(chunks.Chunk{Kind: chunks.Await, Namespace: r.ns, Why: "interrupt"})
		}
	case "RAW", "META_EVENT": // have events of others
	default:
		switch {
		case silent(e.kind):
		case e.delta.IsString() && r.d.findCall(r.ns, "") != nil: // a chunk may have no id
			r.UnknownCall("event", e.kind, "delta")
		default:
			r.Unknown("event", e.kind, f.JSON)
		}
	}
	return nil
}

type event struct {
	kind                                                                 string
	message, role, delta, call, name, parent, content, failure           jsonscan.Value
	run, subagent, outcome, interrupt, input, messages, code, parentCall jsonscan.Value
	raw, metadata                                                        jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	var kind jsonscan.Value
	f.Read(
		kind.From("type"), e.message.From("messageId"), e.role.From("role"), e.delta.From("delta"),
		e.call.From("toolCallId"), e.name.From("toolCallName"), e.name.From("name"), e.parent.From("parentMessageId"),
		e.content.From("content"), e.failure.From("error"), e.failure.From("message"), e.run.From("runId"),
		e.subagent.From("subagentRunId"), e.outcome.From("outcome"), e.interrupt.From("interrupt"), e.input.From("input"),
		e.messages.From("messages"), e.code.From("code"), e.parentCall.From("parentToolCallId"), e.raw.From("rawEvent"),
		e.metadata.From("metadata"),
	)
	e.kind = kind.Str
}
