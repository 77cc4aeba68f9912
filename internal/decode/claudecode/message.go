package claudecode

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r reader) streamEvent(l *line) *wire.Problem {
	parent, kind := r.Text(l.parent), wire.TypeOf(l.event)
	a := r.d.find(parent)
	if kind == "message_start" {
		r.start()
		a = r.d.agent(parent)
		r.endMessage(a)
		a.begin(Streaming, "")
		r.works(a)
	}
	if !a.streams() {
		return nil
	}
	n := r.Len()
	problem := a.Blocks.Decode(r.Writer, wire.Frame{JSON: l.event})
	if kind == "message_stop" {
		a.Phase = Stopped
	}
	if kind == "content_block_start" {
		r.opened(n)
	}
	r.place(n, parent)
	return problem
}

func (a *Agent) begin(phase Phase, id string) {
	*a = Agent{Parent: a.Parent, Phase: phase, Blocks: anthropic.Decoder{Message: wire.Keep(id)}}
}

func (r reader) works(a *Agent) {
	if a.Parent != "" {
		r.progress(a.Parent, "")
	}
}

// opened records the calls in the chunks after the first n, and the results of tools
// that the provider executes.
func (r reader) opened(n int) {
	for _, c := range r.Since(n) {
		switch {
		case c.Kind == chunks.Fragment && c.ID != "":
			r.d.open(c.ID, c.Name)
		case c.Kind == chunks.Result:
			r.d.answered(c.ID)
		}
	}
}

// endMessage ends the message of an agent that came in assistant lines. The wire has
// no end of it: it ends with the next message or with the turn.
func (r reader) endMessage(a *Agent) {
	if a.Phase != Whole {
		return
	}
	n, message := r.Len(), a.Blocks.Message
	if a.Reason != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: a.Reason, Truncated: wire.AnthropicTruncates(a.Reason)})
	}
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
	r.place(n, a.Parent)
	a.Phase = NoMessage
}

func (r reader) retract(a *Agent) {
	if a.Phase != Whole && a.Phase != Streaming {
		return
	}
	r.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: a.Parent, Message: a.Blocks.Message, Text: "the message was withdrawn"})
	a.begin(NoMessage, "")
}

// assistant emits the blocks of an assistant line. A message that is streamed has
// them already: the line confirms its calls.
func (r reader) assistant(l *line) *wire.Problem {
	if !l.message.IsObject() {
		return wire.WrongType("message", l.message, "an object")
	}
	parent := r.Text(l.parent)
	a := r.d.agent(parent)
	id := r.Text(l.message.Member("id"))
	r.d.Aborted = r.d.Aborted || l.aborted.Kind == jsonscan.True
	if a.streams() && a.Blocks.Message == id {
		if l.aborted.Kind == jsonscan.True {
			return nil // its calls have incomplete args
		}
		return r.confirm(a, l.message)
	}
	if a.Phase != Whole || a.Blocks.Message != id {
		r.beginWhole(a, l, id)
	}
	if reason := r.Text(l.message.Member("stop_reason")); reason != "" {
		a.Reason = wire.Keep(reason)
	}
	return r.blocks(a, l.message)
}

func (r reader) beginWhole(a *Agent, l *line, id string) {
	r.start()
	if e := l.supersedes.Elements(); e.Next() {
		r.retract(a)
	}
	r.endMessage(a)
	r.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: a.Parent, Message: id, Role: "assistant", Fresh: true})
	a.begin(Whole, id)
	r.works(a)
}

// blocks emits the blocks of a line. Each is a content part of its own.
func (r reader) blocks(a *Agent, message jsonscan.Value) (problem *wire.Problem) {
	n := r.Len()
	for e := message.Member("content").Elements(); e.Next(); {
		k := r.Len()
		p := anthropic.Block(r.Writer, chunks.Chunk{Message: a.Blocks.Message, Part: a.Parts}, e.Value)
		if problem == nil {
			problem = p
		}
		if list := r.Since(k); len(list) > 0 && (list[0].Kind == chunks.Text || list[0].Kind == chunks.Reasoning) {
			r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: a.Blocks.Message, Part: a.Parts})
			a.Parts++
		}
	}
	r.opened(n)
	r.place(n, a.Parent)
	return problem
}

func (r reader) confirm(a *Agent, message jsonscan.Value) (problem *wire.Problem) {
	n := r.Len()
	for e := message.Member("content").Elements(); e.Next(); {
		if !strings.HasSuffix(wire.TypeOf(e.Value), "tool_use") {
			continue
		}
		if p := anthropic.Block(r.Writer, chunks.Chunk{Message: a.Blocks.Message}, e.Value); problem == nil {
			problem = p
		}
	}
	r.place(n, a.Parent)
	return problem
}

// interruption begins the text that the CLI adds to the history when a person
// interrupts a turn.
const interruption = "[Request interrupted by user"

func (r reader) user(l *line) (problem *wire.Problem) {
	if !l.message.IsObject() {
		return wire.WrongType("message", l.message, "an object")
	}
	parent, content, prompt := r.Text(l.parent), l.message.Member("content"), true
	for e := content.Elements(); e.Next(); {
		switch wire.TypeOf(e.Value) {
		case "text":
			if strings.HasPrefix(r.Text(e.Value.Member("text")), interruption) {
				r.d.Aborted = r.d.Aborted || parent == ""
				prompt = false
			}
		case "tool_result":
			prompt = false
			if p := r.toolResult(e.Value, parent); problem == nil {
				problem = p
			}
		default:
			r.Unknown("content block", wire.TypeOf(e.Value), e.Value)
		}
	}
	if prompt && parent == "" && l.synthetic.Kind != jsonscan.True {
		r.Emit(chunks.Chunk{Kind: chunks.Human, ID: r.Text(l.uuid), Text: r.PlainText(content), Aside: true})
	}
	return problem
}

// toolResult emits one result. It ends the messages of the agent that the call
// started.
func (r reader) toolResult(block jsonscan.Value, parent string) *wire.Problem {
	if a := r.d.answered(r.Text(block.Member("tool_use_id"))); a != nil {
		r.endMessage(a)
	}
	n := r.Len()
	problem := r.ToolResult(wire.ReadResult(block))
	r.place(n, parent)
	return problem
}
