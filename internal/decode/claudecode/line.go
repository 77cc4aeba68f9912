package claudecode

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Decode emits the chunks of a line. Lines of other types have no effect.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var l line
	l.read(f)
	r := reader{w, d}
	switch l.kind.Str {
	case "stream_event":
		return r.streamEvent(&l)
	case "assistant":
		return r.assistant(&l)
	case "user":
		return r.user(&l)
	case "system":
		r.system(&l)
	case "tool_progress":
		r.progress(r.Text(l.toolUse), "")
	case "control_request", "control_response", "control_cancel_request":
		r.control(&l)
	case "result":
		r.result(&l)
	case "tool_use_summary", "streamlined_tool_use_summary", "transcript_mirror": // tell of calls of other lines
	default:
		r.Unknown("line", l.kind.Str, f.JSON)
	}
	return nil
}

type reader struct {
	*wire.Writer
	d *Decoder
}

// place completes the chunks after the first n: those of a subagent have its
// namespace, and its calls have the call that started it as parent.
func (r reader) place(n int, parent string) {
	list := r.Since(n)
	for i := range list {
		c := &list[i]
		c.Namespace = parent
		if c.Kind == chunks.Fragment && c.ID != "" && parent != "" {
			c.ParentCall = parent
		}
	}
}

// start begins a run, unless one is open: the stream may begin in the middle of a
// turn.
func (r reader) start() {
	if !r.d.Running {
		r.d.Running, r.d.Aborted = true, false
		r.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
}

func (r reader) system(l *line) {
	switch l.subtype.Str {
	case "init":
		r.endTurn()
		r.start()
	case "task_progress":
		r.progress(r.Text(l.toolUse), r.Text(l.description))
	case "task_notification": // the end of a subagent in the background
		if a := r.d.answered(r.Text(l.toolUse)); a != nil {
			r.endMessage(a)
		}
	case "model_refusal_fallback":
		r.retract(&r.d.Root)
	}
}

func (r reader) progress(id, text string) {
	if r.d.isOpen(id) {
		r.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: text})
	}
}

// result emits the end of a turn. A provider's error has the subtype success, and
// is_error is true.
func (r reader) result(l *line) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	aborted := strings.HasPrefix(l.terminal.Str, "aborted")
	switch {
	case aborted, r.d.Aborted && strings.HasPrefix(l.subtype.Str, "error"):
		c.Status, c.Text = "cancelled", r.resultText(l)
	case l.isError.Kind == jsonscan.True, strings.HasPrefix(l.subtype.Str, "error"):
		c.Status, c.Text = "error", r.resultText(l)
	case l.deferred.IsObject():
		c.Status = "interrupted"
		r.Emit(chunks.Chunk{Kind: chunks.Await, ID: r.Text(l.deferred.Member("id")), Why: "deferred"})
	}
	r.end(c)
}

// endTurn ends a turn that has no result, because another one begins. A process that
// was killed prints no result. Subagents in the background are active between turns.
func (r reader) endTurn() {
	switch {
	case r.d.Root.Phase == NoMessage:
	case len(r.d.Open) > 0 || r.d.Root.Phase == Streaming:
		r.end(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: "the turn has no result in the stream"})
	default:
		r.end(chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"})
	}
}

func (r reader) end(c chunks.Chunk) {
	r.endMessage(&r.d.Root)
	for i := range r.d.Below {
		r.endMessage(&r.d.Below[i])
	}
	r.Emit(c)
	*r.d = Decoder{}
}

func (r reader) resultText(l *line) string {
	if s := r.Text(l.result); s != "" {
		return s
	}
	for e := l.errors.Elements(); e.Next(); {
		if s := r.FailureText(e.Value); s != "" {
			return s
		}
	}
	return r.Text(l.subtype)
}
