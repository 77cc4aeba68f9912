package claudecode

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// task reads the start, a change or the end of the task of a call: a command, or a subagent.
// Its status is the result where no tool_result comes, or only that of a task in the
// background.
func (d *Decoder) task(w *wire.Writer, f wire.Frame, l *line) {
	var id, kind, status, summary, background, patch jsonscan.Value
	f.Read(id.From("task_id"), kind.From("task_type"), status.From("status"), summary.From("summary"), background.From("is_backgrounded"), patch.From("patch"))
	patch.Read(status.From("status"))
	task := wire.Keep(w.Text(id))
	c := d.find(w.Text(l.toolUse))
	if c == nil {
		c = d.call(func(c *Call) bool { return c.Task == task && task != "" })
	}
	end := l.subtype.Str == "task_notification"
	switch {
	case c == nil && end:
		d.closeCall(w, w.Text(l.toolUse))
	case c == nil:
	case l.subtype.Str == "task_started":
		if kind.Str != "local_agent" || background.Kind == jsonscan.True {
			c.Task = task
		}
	case TaskStatus(status.Str) != "":
		c.Status, c.Text = TaskStatus(status.Str), strings.Clone(w.Text(summary))
		if end && c.Background {
			d.end(w, c)
		}
	}
}

// TaskStatus returns the status of a result for that of a task which has ended, or "".
func TaskStatus(status string) string {
	switch status {
	case "completed":
		return "success"
	case "failed":
		return "error"
	case "stopped", "killed":
		return "cancelled"
	}
	return ""
}

// toolResult emits a result. That of a call in the background states only that it has begun.
func (d *Decoder) toolResult(w *wire.Writer, parent string, v, line jsonscan.Value) *wire.Problem {
	id, output := w.Text(v.Member("tool_use_id")), line.Member("tool_use_result")
	c, text := d.find(id), ""
	if c != nil {
		text = w.PlainText(v.Member("content"))
	}
	if c != nil && (LeavesRunning(output) || c.Task != "" && strings.Contains(text, c.Task)) {
		w.Emit(chunks.Chunk{Kind: chunks.Progress, Namespace: parent, ID: id, Text: wire.Excerpt(text)})
		if c.Background = true; c.Status != "" {
			d.end(w, c)
		}
		return nil
	}
	denied := c != nil && c.Status == "denied"
	d.closeCall(w, id)
	n := w.Len()
	problem := w.ToolResult(chunks.Chunk{Namespace: parent}, wire.ReadResult(v))
	if list := w.Since(n); len(list) > 0 && list[0].Status == "error" {
		if denied {
			list[0].Status = "denied"
		}
		for e := line.Member("tool_result_meta").Elements(); e.Next(); {
			if w.Text(e.Value.Member("id")) == id {
				list[0].Status = cmp.Or(NotRun(w, &list[0], e.Value.Member("non_execution_kind"), e.Value.Member("permission_decision")), list[0].Status)
			}
		}
		if d.Qwen && strings.HasPrefix(text, "[Operation Cancelled]") {
			list[0].Status = "cancelled"
		}
	}
	return problem
}

// NotRun returns the status of a result that is an error because its call did not run, or was
// stopped while it ran, "" for others. kind and decision are what the line states about the
// call; the text of a stopped call begins as that of a denied one.
func NotRun(w *wire.Writer, result *chunks.Chunk, kind, decision jsonscan.Value) string {
	text := result.Text
	if result.Content != "" {
		text = w.PlainText(jsonscan.ValueOf(result.Content))
	}
	switch {
	case strings.Contains(text, "this call was stopped while running"), kind.Str == "interrupted", kind.Str == "cancelled":
		return "cancelled"
	case decision.Member("decision").Str == "reject", kind.Str == "permission-rule", kind.Str == "user-rejected", strings.HasPrefix(kind.Str, "automode-"),
		wire.HasAnyPrefix(text, "The user doesn't want to proceed with this tool use", "The user doesn't want to take this action", "The user rejected"):
		return "denied"
	}
	return ""
}

// LeavesRunning reports whether the output of a tool states that the call goes on in the
// background.
func LeavesRunning(output jsonscan.Value) bool {
	var async, status, shell, detached jsonscan.Value
	output.Read(async.From("isAsync"), status.From("status"), shell.From("backgroundTaskId"), detached.From("detachedToolCall"))
	return async.Kind == jsonscan.True || status.Str == "async_launched" || shell.IsString() || detached.Kind == jsonscan.True
}

// end emits the result of a call that has no other one.
func (d *Decoder) end(w *wire.Writer, c *Call) {
	r := chunks.Chunk{Kind: chunks.Result, ID: c.ID, Status: c.Status, Text: c.Text}
	d.closeCall(w, r.ID)
	w.Emit(r)
}

// leave emits the results that only other lines have stated, and returns the calls that go on
// after the turn.
func (d *Decoder) leave(w *wire.Writer) (rest []Call) {
	for i := range d.Open {
		switch c := &d.Open[i]; {
		case c.Status != "":
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: c.ID, Status: c.Status, Text: c.Text})
		case c.Background:
			rest = append(rest, *c)
		}
	}
	return rest
}
