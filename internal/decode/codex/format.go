// Package codex reads the output of codex exec --json, the Codex CLI:
// https://github.com/openai/codex/blob/main/codex-rs/exec/src/exec_events.rs
//
//	thread.started{thread_id} → turn.started
//	→ item.started, item.updated, item.completed{item:{id,type,…}} …
//	→ turn.completed{usage} or turn.failed{error}; error{message} may come at any time
//
// Each turn is a run. The tools run in the CLI, so all results are in the stream.
// The wire has no message ids: a message has one agent_message at most, and the
// next one begins another message.
package codex

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format codex-exec.
func Format() wire.Format {
	return wire.Format{
		Name: "codex-exec", Shape: "responses",
		Keys:    []string{"type"},
		Claims:  claims,
		Console: true,
		New:     func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var e event
	e.read(f)
	switch kind := e.kind.Str; kind {
	case "thread.started", "turn.started", "turn.completed", "turn.failed":
		return wire.Surely
	case "session.created":
		return wire.SurelyIf(e.session.IsString(), wire.No)
	case "item.started", "item.updated", "item.completed":
		return wire.SurelyIf(e.item.IsObject(), wire.No)
	default:
		if kind == "error" && e.message.IsString() || wire.HasAnyPrefix(kind, "thread.", "turn.", "item.") {
			return wire.IfKnown
		}
	}
	return wire.No
}

type event struct {
	kind, item, failure, message, session jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.kind.From("type"), e.item.From("item"), e.failure.From("error"), e.message.From("message"),
		e.session.From("session_id"),
	)
}

type decoder struct {
	Running bool     // a turn is open
	Text    bool     // the message has its agent_message
	Parts   int      // content parts of the message so far
	Open    wire.IDs // of the calls without a result
	Blank   wire.IDs // of the open calls whose args come with a later event
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Running)
	f.Flag("t", &d.Text)
	stored.Number(f, "p", &d.Parts)
	d.Open.Fields(f, "o")
	d.Blank.Fields(f, "b")
}

const maxOpen = 256

// Decode emits the chunks of a frame. Events of other types have no effect: an
// error is a warning or precedes turn.failed.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	switch e.kind.Str {
	case "thread.started", "session.created":
		d.abort(w)
	case "turn.started":
		d.abort(w)
		d.start(w)
	case "turn.completed":
		d.end(w, chunks.Chunk{Status: "completed"})
	case "turn.failed":
		d.end(w, chunks.Chunk{Status: "error", Text: w.FailureText(e.failure)})
	case "item.started", "item.updated", "item.completed":
		if !e.item.IsObject() {
			return wire.WrongType("item", e.item, "an object")
		}
		return d.item(w, e.kind.Str, e.item)
	default:
		unknownItem(w, "event", e.kind.Str, e.item)
		w.Unknown("event", e.kind.Str, f.JSON)
	}
	return nil
}

// start begins a run, unless one is open: the stream may begin in the middle of a
// turn.
func (d *decoder) start(w *wire.Writer) {
	if !d.Running {
		*d = decoder{Running: true}
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
}

// abort ends a turn that has no end on the wire, because another process or turn
// begins. The CLI prints no event where a turn is interrupted.
func (d *decoder) abort(w *wire.Writer) {
	if d.Running {
		d.end(w, chunks.Chunk{Status: "cancelled", Text: "the turn has no end in the stream"})
	}
}

// end ends a run. Items that were not completed have no result: some versions of the
// CLI print none for items that are abandoned.
func (d *decoder) end(w *wire.Writer, c chunks.Chunk) {
	c.Kind, c.Abandons = chunks.RunEnd, c.Status == "completed"
	w.Emit(c)
	*d = decoder{}
}
