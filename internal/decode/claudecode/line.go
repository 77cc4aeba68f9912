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
	switch l.kind.Str {
	case "stream_event":
		return d.streamEvent(w, &l)
	case "assistant":
		return d.assistant(w, &l)
	case "user":
		return d.user(w, f, &l)
	case "system":
		d.system(w, f, &l)
	case "tool_progress":
		d.progress(w, w.Text(l.toolUse), "")
	case "control_request", "control_response", "control_cancel_request":
		d.control(w, &l)
	case "result":
		d.result(w, f, &l)
	case "tool_use_summary", "streamlined_tool_use_summary", "transcript_mirror": // tell of calls of other lines
	default:
		w.Unknown("line", l.kind.Str, f.JSON)
	}
	return nil
}

// place completes the chunks after the first n: those of a subagent have its
// namespace, and its calls have the call that started it as parent.
func (d *Decoder) place(w *wire.Writer, n int, parent string) {
	list := w.Since(n)
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
func (d *Decoder) start(w *wire.Writer) {
	if !d.Running {
		d.Running, d.Aborted = true, false
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
}

func (d *Decoder) system(w *wire.Writer, f wire.Frame, l *line) {
	switch l.subtype.Str {
	case "init":
		d.endTurn(w)
		d.start(w)
		d.Qwen = f.JSON.Member("qwen_code_version").IsString()
	case "task_progress":
		d.progress(w, w.Text(l.toolUse), w.Text(l.description))
	case "task_started", "task_updated", "task_notification":
		d.task(w, f, l)
	case "permission_denied":
		if c := d.find(w.Text(l.toolUse)); c != nil {
			c.Status, c.Text = "denied", wire.Keep(w.Text(f.JSON.Member("message")))
		}
	case "model_refusal_fallback":
		d.retract(w, &d.Root)
	case "informational", "hook_started", "hook_progress", "hook_response":
	default:
		if d.find(w.Text(l.toolUse)) != nil {
			w.UnknownCall("system line", l.subtype.Str, "tool_use_id")
		}
	}
}

func (d *Decoder) progress(w *wire.Writer, id, text string) {
	if d.find(id) != nil {
		w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: text})
	}
}

// result emits the end of a turn. A provider's error has the subtype success, and
// is_error is true.
func (d *Decoder) result(w *wire.Writer, f wire.Frame, l *line) {
	for e := f.JSON.Member("permission_denials").Elements(); e.Next(); {
		if c := d.find(w.Text(e.Value.Member("tool_use_id"))); c != nil && !c.Background {
			c.Status = "denied"
		}
	}
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	aborted := strings.HasPrefix(l.terminal.Str, "aborted")
	switch {
	case aborted, d.Aborted && strings.HasPrefix(l.subtype.Str, "error"):
		c.Status, c.Text = "cancelled", d.resultText(w, l)
	case l.isError.Kind == jsonscan.True, strings.HasPrefix(l.subtype.Str, "error"):
		c.Status, c.Text = "error", d.resultText(w, l)
	case l.deferred.IsObject():
		c.Status = "interrupted"
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: w.Text(l.deferred.Member("id")), Why: "deferred"})
	}
	d.endRun(w, c)
}

// endTurn ends a turn that has no result, because another one begins. A process that
// was killed prints no result. Subagents in the background are active between turns.
func (d *Decoder) endTurn(w *wire.Writer) {
	switch {
	case d.Root.Phase == NoMessage:
	case d.Root.Phase == Streaming || d.call(func(c *Call) bool { return !c.Background }) != nil:
		d.endRun(w, chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: "the turn has no result in the stream"})
	default:
		d.endRun(w, chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"})
	}
}

func (d *Decoder) endRun(w *wire.Writer, c chunks.Chunk) {
	d.endMessage(w, &d.Root)
	for i := range d.Below {
		d.endMessage(w, &d.Below[i])
	}
	open := d.leave(w)
	w.Emit(c)
	*d = Decoder{Open: open}
}

func (d *Decoder) resultText(w *wire.Writer, l *line) string {
	if s := w.Text(l.result); s != "" {
		return s
	}
	for e := l.errors.Elements(); e.Next(); {
		if s := w.FailureText(e.Value); s != "" {
			return s
		}
	}
	return w.Text(l.subtype)
}
