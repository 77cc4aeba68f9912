package claudetranscript

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/claudecode"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// silence is how long a message without an end stays open after its text or call, in units of
// chunks.Chunk.Wait.
const silence = 30

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var l line
	l.read(f)
	d.notified(w, f.JSON.Raw)
	switch kind := l.kind.Str; kind {
	case "assistant", "user", "tool_result":
		if l.message.Member("parts").IsArray() {
			return wire.WrongShape("the line is of a session file of Qwen Code, which is not read")
		}
		if !l.message.IsObject() {
			return wire.WrongType("message", l.message, "an object")
		}
		if kind == "user" {
			return d.user(w, &l)
		}
		return d.assistant(w, &l)
	case "system":
		if l.sidechain.Kind != jsonscan.True && (l.subtype.Str == "turn_duration" || l.subtype.Str == "stop_hook_summary") {
			d.Root.endMessage(w)
		}
	case "progress": // repeats the messages of a subagent
		if id := w.Text(l.call); d.Open.Has(id) {
			w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id})
		}
	default:
		if !beside(kind) {
			w.Unknown("line", kind, f.JSON)
		}
	}
	return nil
}

func (a *Agent) endMessage(w *wire.Writer) {
	if a.Message != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: a.Namespace, Message: a.Message})
		a.Message = ""
	}
}

func (d *decoder) assistant(w *wire.Writer, l *line) (problem *wire.Problem) {
	a := d.agent(w, l)
	var id, content, reason, usage jsonscan.Value
	l.message.Read(id.From("id"), content.From("content"), reason.From("stop_reason"), usage.From("usage"))
	if message := wire.Keep(w.Text(id)); a.Message != message {
		a.endMessage(w)
		a.Message, a.Parts = message, 0
		w.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: a.Namespace, Message: message, Role: "assistant"})
	}
	n, ends := w.Len(), false
	for e := content.Elements(); e.Next(); {
		k := w.Len()
		p := anthropic.Block(w, chunks.Chunk{Message: a.Message, Part: a.Parts}, e.Value)
		problem = cmp.Or(problem, p)
		if list := w.Since(k); len(list) > 0 && (list[0].Kind == chunks.Text || list[0].Kind == chunks.Reasoning) {
			ends = list[0].Kind == chunks.Text
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: a.Message, Part: a.Parts})
			a.Parts++
		} else if wire.TypeOf(e.Value) == "tool_use" {
			d.open(w, e.Value)
			ends = true
		}
	}
	w.EmitUsage(chunks.Chunk{Message: a.Message}, usage)
	if r := w.Text(reason); ends {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: a.Message, Reason: r, Truncated: wire.AnthropicTruncates(r), Wait: silence})
	}
	a.place(w, n)
	if l.failed.Kind == jsonscan.True && a.Namespace == "" {
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: w.PlainText(content)})
		d.Root.Message = ""
	}
	return problem
}

func (a *Agent) place(w *wire.Writer, n int) {
	list := w.Since(n)
	for i := range list {
		c := &list[i]
		c.Namespace = a.Namespace
		if c.Kind == chunks.Fragment {
			c.ParentCall = cmp.Or(c.ParentCall, a.Call)
		}
	}
}

func (d *decoder) open(w *wire.Writer, call jsonscan.Value) {
	var id, name, input jsonscan.Value
	call.Read(id.From("id"), name.From("name"), input.From("input"))
	d.Open.Add(w.Text(id), maxCalls)
	if name.Str == "Task" || name.Str == "Agent" {
		d.Tasks = append(wire.MakeRoom(d.Tasks, maxTasks), Task{ID: wire.Keep(w.Text(id)), Prompt: wire.Keep(w.Text(input.Member("prompt")))})
	}
}

// interruption begins the text that the program adds when a person interrupts a turn.
const interruption = "[Request interrupted by user"

func (d *decoder) user(w *wire.Writer, l *line) (problem *wire.Problem) {
	a, content := d.agent(w, l), l.message.Member("content")
	results, stopped, n := false, strings.HasPrefix(w.Text(content), interruption), w.Len()
	for e := content.Elements(); e.Next(); {
		switch kind := wire.TypeOf(e.Value); kind {
		case "tool_result":
			results = true
			id := w.Text(e.Value.Member("tool_use_id"))
			if claudecode.LeavesRunning(l.result) && d.Open.Has(id) {
				d.Left.AddNew(id, maxCalls)
				w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(w.PlainText(e.Value.Member("content")))})
				continue
			}
			d.close(id)
			problem = cmp.Or(problem, w.ToolResult(chunks.Chunk{}, wire.ReadResult(e.Value)))
		case "text":
			stopped = stopped || strings.HasPrefix(w.Text(e.Value.Member("text")), interruption)
		case "image", "document":
		default:
			w.Unknown("content block", kind, e.Value)
		}
	}
	list := w.Since(n)
	for i := range list {
		if c := &list[i]; c.Status == "error" {
			c.Status = cmp.Or(claudecode.NotRun(w, c, l.denial, l.decision), c.Status)
		}
	}
	a.place(w, n)
	switch {
	case a.Namespace != "" || results && !stopped:
	case stopped:
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: "interrupted by the user"})
		d.Left = nil
		d.Root.Message = ""
	case l.meta.Kind != jsonscan.True && l.summary.Kind != jsonscan.True && (!l.origin.IsObject() || l.origin.Member("kind").Str == "human"):
		if text := written(w, content); text != "" || content.IsArray() {
			w.Emit(chunks.Chunk{Kind: chunks.Human, ID: w.Text(l.uuid), Text: text, Aside: len(d.Left) > 0})
			a.endMessage(w)
		}
	}
	return problem
}

func (d *decoder) close(id string) {
	d.Open.Remove(id)
	d.Tasks = slices.DeleteFunc(d.Tasks, func(t Task) bool { return t.ID == wire.Keep(id) })
}

// written returns the text that a person wrote, without what the program adds to it.
func written(w *wire.Writer, content jsonscan.Value) string {
	var text []string
	add := func(s string) {
		if s != "" && !wire.HasAnyPrefix(s, "<system-reminder>", "<ide_", "<task-notification>", "<local-command-") {
			text = append(text, s)
		}
	}
	if content.IsString() {
		add(w.Text(content))
	}
	for e := content.Elements(); e.Next(); {
		if wire.TypeOf(e.Value) == "text" {
			add(w.Text(e.Value.Member("text")))
		}
	}
	return strings.Join(text, "\n")
}
