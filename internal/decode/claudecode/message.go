package claudecode

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *Decoder) streamEvent(w *wire.Writer, l *line) *wire.Problem {
	parent, kind := w.Text(l.parent), wire.TypeOf(l.event)
	a := d.known(parent)
	if kind == "message_start" {
		d.start(w)
		a = d.agent(parent)
		d.endMessage(w, a)
		a.begin(Streaming, "")
		d.works(w, a)
	}
	if !a.streams() {
		return nil
	}
	n := w.Len()
	problem := a.Blocks.Decode(w, wire.Frame{JSON: l.event})
	if kind == "content_block_stop" { // the assistant line with a call completes it, or the end of the message
		w.Drop(n, func(c *chunks.Chunk) bool { return c.Kind == chunks.Seal })
	}
	if kind == "message_stop" {
		a.Phase = Stopped
	}
	if kind == "content_block_start" {
		d.openCalls(w, n)
	}
	d.place(w, n, parent)
	return problem
}

func (a *Agent) begin(phase Phase, id string) {
	*a = Agent{Parent: a.Parent, Phase: phase, Blocks: anthropic.Decoder{Message: wire.Keep(id)}}
}

func (d *Decoder) works(w *wire.Writer, a *Agent) {
	if a.Parent != "" {
		d.progress(w, a.Parent, "")
	}
}

// openCalls records the calls in the chunks after the first n, and the results of tools
// that the provider executes.
func (d *Decoder) openCalls(w *wire.Writer, n int) {
	for _, c := range w.Since(n) {
		switch {
		case c.Kind == chunks.Fragment && c.ID != "" && d.find(c.ID) == nil:
			d.Open = append(wire.MakeRoom(d.Open, maxOpen), Call{ID: wire.Keep(c.ID), Name: wire.Keep(c.Name)})
		case c.Kind == chunks.Result:
			d.closeCall(w, c.ID)
		}
	}
}

// endMessage ends the message of an agent that came in assistant lines. The wire has
// no end of it: it ends with the next message or with the turn.
func (d *Decoder) endMessage(w *wire.Writer, a *Agent) {
	if a.Phase != Whole {
		return
	}
	n, message := w.Len(), a.Blocks.Message
	if a.Reason != "" || message == "" {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: a.Reason, Truncated: a.Reason == aborted || wire.AnthropicTruncates(a.Reason)})
	}
	w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
	d.place(w, n, a.Parent)
	a.Phase = NoMessage
}

func (d *Decoder) retract(w *wire.Writer, a *Agent) {
	if a.Phase != Whole && a.Phase != Streaming {
		return
	}
	w.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: a.Parent, Message: a.Blocks.Message, Text: "the message was withdrawn"})
	a.begin(NoMessage, "")
}

// assistant emits the blocks of an assistant line. A message that is streamed has
// them already: the line confirms its calls.
func (d *Decoder) assistant(w *wire.Writer, l *line) *wire.Problem {
	if !l.message.IsObject() {
		return wire.WrongType("message", l.message, "an object")
	}
	parent := w.Text(l.parent)
	a := d.agent(parent)
	id := w.Text(l.message.Member("id"))
	d.Aborted = d.Aborted || l.aborted.Kind == jsonscan.True
	if a.streams() && (a.Blocks.Message == id || d.repeats(w, a, l.message)) {
		if l.aborted.Kind == jsonscan.True {
			return nil // its calls have incomplete args
		}
		return d.confirm(w, a, l.message)
	}
	if a.Phase != Whole || a.Blocks.Message != id {
		d.beginWhole(w, a, l, id)
	}
	if reason := w.Text(l.message.Member("stop_reason")); reason != "" {
		a.Reason = wire.Keep(reason)
	}
	n := w.Len()
	problem := d.blocks(w, a, l.message)
	if l.aborted.Kind == jsonscan.True { // the input is what came of it
		a.Reason = aborted
		for i, list := 0, w.Since(n); i < len(list); i++ {
			if c := &list[i]; c.Kind == chunks.Fragment {
				c.Whole, c.Object, c.Args = false, false, ""
			}
		}
	}
	return problem
}

// aborted is the reason of a message that a person has interrupted.
const aborted = "aborted"

// repeats reports whether an assistant line of another id has what was streamed: Qwen Code
// changes the id in the middle of a message.
func (d *Decoder) repeats(w *wire.Writer, a *Agent, message jsonscan.Value) bool {
	for e := message.Member("content").Elements(); e.Next(); {
		if wire.TypeOf(e.Value) == "tool_use" && d.find(w.Text(e.Value.Member("id"))) != nil {
			return true
		}
	}
	return d.Qwen && a.Phase == Streaming
}

func (d *Decoder) beginWhole(w *wire.Writer, a *Agent, l *line, id string) {
	d.start(w)
	if e := l.supersedes.Elements(); e.Next() {
		d.retract(w, a)
	}
	d.endMessage(w, a)
	w.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: a.Parent, Message: id, Role: "assistant", Fresh: true})
	a.begin(Whole, id)
	d.works(w, a)
}

// blocks emits the blocks of a line. Each is a content part of its own.
func (d *Decoder) blocks(w *wire.Writer, a *Agent, message jsonscan.Value) (problem *wire.Problem) {
	n := w.Len()
	for e := message.Member("content").Elements(); e.Next(); {
		k := w.Len()
		p := anthropic.Block(w, chunks.Chunk{Message: a.Blocks.Message, Part: a.Parts}, e.Value)
		problem = cmp.Or(problem, p)
		if list := w.Since(k); len(list) > 0 && (list[0].Kind == chunks.Text || list[0].Kind == chunks.Reasoning) {
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: a.Blocks.Message, Part: a.Parts})
			a.Parts++
		}
	}
	d.openCalls(w, n)
	d.place(w, n, a.Parent)
	return problem
}

func (d *Decoder) confirm(w *wire.Writer, a *Agent, message jsonscan.Value) (problem *wire.Problem) {
	n := w.Len()
	for e := message.Member("content").Elements(); e.Next(); {
		if !strings.HasSuffix(wire.TypeOf(e.Value), "tool_use") {
			continue
		}
		problem = cmp.Or(problem, anthropic.Block(w, chunks.Chunk{Message: a.Blocks.Message}, e.Value))
	}
	d.openCalls(w, n)
	d.place(w, n, a.Parent)
	return problem
}

// interruption begins the text that the CLI adds to the history when a person
// interrupts a turn.
const interruption = "[Request interrupted by user"

func (d *Decoder) user(w *wire.Writer, f wire.Frame, l *line) (problem *wire.Problem) {
	if !l.message.IsObject() {
		return wire.WrongType("message", l.message, "an object")
	}
	parent, content, prompt := w.Text(l.parent), l.message.Member("content"), true
	for e := content.Elements(); e.Next(); {
		switch wire.TypeOf(e.Value) {
		case "text":
			if strings.HasPrefix(w.Text(e.Value.Member("text")), interruption) {
				d.Aborted = d.Aborted || parent == ""
				prompt = false
			}
		case "tool_result":
			prompt = false
			problem = cmp.Or(problem, d.toolResult(w, parent, e.Value, f.JSON))
		default:
			w.Unknown("content block", wire.TypeOf(e.Value), e.Value)
		}
	}
	if prompt && parent == "" && l.synthetic.Kind != jsonscan.True {
		w.Emit(chunks.Chunk{Kind: chunks.Human, ID: w.Text(l.uuid), Text: w.PlainText(content), Aside: true})
	}
	return problem
}
