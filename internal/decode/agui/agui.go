package agui

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The AG-UI protocol, 1.0 and what came before: https://docs.ag-ui.com/concepts/events
//
//	RUN_STARTED{runId} → TEXT_MESSAGE_START{messageId,role} → TEXT_MESSAGE_CONTENT{messageId,delta} → TEXT_MESSAGE_END
//	→ TOOL_CALL_START{toolCallId,toolCallName,parentMessageId?} → TOOL_CALL_ARGS{toolCallId,delta} → TOOL_CALL_END{toolCallId}
//	→ TOOL_CALL_RESULT{toolCallId,content} → RUN_FINISHED{outcome?} or RUN_ERROR{message}
//
// TEXT_MESSAGE_CHUNK, TOOL_CALL_CHUNK and REASONING_MESSAGE_CHUNK are their
// own start, and end when something else comes. A message has no end of its
// own: it is over when another one begins in its namespace, which is the
// subagentRunId. What is remembered for that is in ag_ui_memory.go, whole
// messages are in ag_ui_snapshot.go.

func claims(f wire.Frame) wire.Claim {
	kind := wire.TypeOf(f.JSON)
	switch kind {
	case "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED", "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT":
		return wire.Surely
	case "RAW", "CUSTOM", "META_EVENT":
		return wire.Perhaps
	}
	for _, family := range [...]string{"TOOL_CALL_", "TEXT_MESSAGE_", "REASONING_", "THINKING_", "ACTIVITY_", "SUBAGENT_"} {
		if strings.HasPrefix(kind, family) {
			return wire.Surely
		}
	}
	return wire.No
}

// aguiEvent is an event's members, whatever its type.
type aguiEvent struct {
	kind                                                            string
	message, role, delta, call, name, parent, content, failure      jsonscan.Value
	run, subagent, outcome, interrupt, input, messages, code, owner jsonscan.Value
	raw                                                             jsonscan.Value
}

func (e *aguiEvent) read(v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			e.kind = m.Value.Str
		case "messageId":
			e.message = m.Value
		case "role":
			e.role = m.Value
		case "delta":
			e.delta = m.Value
		case "toolCallId":
			e.call = m.Value
		case "toolCallName", "name":
			e.name = m.Value
		case "parentMessageId":
			e.parent = m.Value
		case "content":
			e.content = m.Value
		case "error", "message":
			e.failure = m.Value
		case "runId":
			e.run = m.Value
		case "subagentRunId":
			e.subagent = m.Value
		case "outcome":
			e.outcome = m.Value
		case "interrupt":
			e.interrupt = m.Value
		case "input":
			e.input = m.Value
		case "messages":
			e.messages = m.Value
		case "code":
			e.code = m.Value
		case "parentToolCallId":
			e.owner = m.Value
		case "rawEvent":
			e.raw = m.Value
		}
	}
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	var e aguiEvent
	e.read(f.JSON)
	g := agui{r, r.d, r.Text(e.subagent)}
	g.closeChunks(&e)
	switch {
	case strings.HasPrefix(e.kind, "TOOL_CALL_"):
		return g.call(&e)
	case strings.HasPrefix(e.kind, "TEXT_MESSAGE_"):
		return g.content(&e, textLane, e.kind[len("TEXT_MESSAGE_"):])
	case strings.HasPrefix(e.kind, "REASONING_MESSAGE_"):
		return g.content(&e, reasoningLane, e.kind[len("REASONING_MESSAGE_"):])
	case strings.HasPrefix(e.kind, "THINKING_TEXT_MESSAGE_"):
		return g.content(&e, reasoningLane, e.kind[len("THINKING_TEXT_MESSAGE_"):])
	case strings.HasPrefix(e.kind, "SUBAGENT_"):
		g.subagent(&e)
	}
	switch e.kind {
	case "RUN_STARTED":
		return g.runStarted(&e)
	case "RUN_FINISHED":
		return g.runFinished(&e)
	case "RUN_ERROR":
		g.runError(&e)
	case "MESSAGES_SNAPSHOT":
		return g.snapshot(e.messages)
	case "CUSTOM":
		if e.name.Str == "on_interrupt" { // as LangGraph's adapters tell it
			g.mem.Asked = true
			r.Emit(chunks.Chunk{Kind: chunks.Await, Namespace: g.ns, Why: "interrupt"})
		}
	}
	return nil
}

// agui is the reading of one event.
type agui struct {
	r   reader
	mem *Decoder
	ns  string
}

// closeChunks ends the texts and calls that came in chunks, unless the event
// goes on with them or is beside the conversation.
func (g agui) closeChunks(e *aguiEvent) {
	switch {
	case e.kind == "RAW", e.kind == "CUSTOM", e.kind == "META_EVENT",
		strings.HasPrefix(e.kind, "ACTIVITY_"), strings.HasPrefix(e.kind, "STATE_"):
		return
	}
	id := g.r.Text(e.message)
	if e.kind == "TOOL_CALL_CHUNK" {
		id = g.r.Text(e.call)
	}
	g.mem.Lanes = slices.DeleteFunc(g.mem.Lanes, func(l AGUILane) bool {
		if !l.Chunk || l.Namespace != g.ns || l.Kind.chunk() == e.kind && sameID(l.ID, id) {
			return false
		}
		g.end(l)
		return true
	})
}

// sameID tells whether an id is that of an open lane; none means the open one.
func sameID(lane, id string) bool { return id == "" || lane == id[:min(len(id), wire.MaxID)] }

// end emits the end of what a lane carried.
func (g agui) end(l AGUILane) {
	switch l.Kind {
	case callLane:
		g.r.Emit(chunks.Chunk{Kind: chunks.Seal, Namespace: l.Namespace, Message: l.Message, ID: l.ID})
	case textLane, reasoningLane:
		g.r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Namespace: l.Namespace, Message: l.Message})
	}
}

// begin makes a message the current one of the namespace. The one before it is
// over, unless something of it is still open.
func (g agui) begin(id, role string) {
	p := g.mem.place(g.ns)
	if p.Begun && p.Message == id {
		return
	}
	if p.Begun && !g.mem.busy(g.ns, p.Message) {
		g.over(p.Message)
	}
	p.Begun, p.Message = true, wire.Keep(id)
	g.r.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: g.ns, Message: id, Role: role})
}

// over ends a message of the namespace. The protocol has no finish reason.
func (g agui) over(id string) {
	g.r.Emit(chunks.Chunk{Kind: chunks.Finish, Namespace: g.ns, Message: id})
	g.r.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: g.ns, Message: id})
}

// content reads the events of a text or reasoning: START, CONTENT, END, CHUNK.
// Those of THINKING have no message of their own.
func (g agui) content(e *aguiEvent, kind laneKind, what string) *wire.Problem {
	if e.message.Present() && !e.message.IsString() {
		return wire.WrongType("messageId", e.message, "a string")
	}
	if e.delta.Present() && !e.delta.IsString() {
		return wire.WrongType("delta", e.delta, "a string")
	}
	id := g.r.Text(e.message)
	l := g.mem.lane(kind, g.ns, id)
	switch {
	case what == "END":
		if l != nil {
			g.end(*l)
			g.mem.close(l)
		}
		return nil
	case l == nil && (what == "START" || what == "CHUNK" || what == "CONTENT"):
		l = g.openContent(e, kind, id)
		l.Chunk = what == "CHUNK"
	}
	if s := g.r.Text(e.delta); l != nil && s != "" && l.Kind != mutedLane {
		c := chunks.Chunk{Kind: chunks.Text, Namespace: l.Namespace, Message: l.Message, Text: s}
		if l.Kind == reasoningLane {
			c.Kind = chunks.Reasoning
		}
		g.r.Emit(c)
	}
	return nil
}

// openContent opens a text or reasoning. What others than the assistant say is
// only told as far as it is a new message of a person.
func (g agui) openContent(e *aguiEvent, kind laneKind, id string) *AGUILane {
	role := g.r.Text(e.role)
	if kind == textLane && role != "" && role != "assistant" {
		if role == "user" {
			g.r.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: g.ns, ID: id})
		}
		return g.mem.open(AGUILane{Kind: mutedLane, Namespace: g.ns, ID: id})
	}
	message := id
	switch {
	case kind == reasoningLane && id == "":
		message = g.mem.place(g.ns).Message
	case kind == reasoningLane:
		role = "reasoning"
	default:
		role = "assistant"
	}
	g.begin(message, role)
	return g.mem.open(AGUILane{Kind: kind, Namespace: g.ns, ID: id, Message: message})
}

// call reads the events of a call: START, ARGS, END, CHUNK, RESULT.
func (g agui) call(e *aguiEvent) *wire.Problem {
	if what := e.kind; what != "TOOL_CALL_CHUNK" && !e.call.IsString() || e.call.Present() && !e.call.IsString() {
		return wire.WrongType("toolCallId", e.call, "a string")
	}
	if e.delta.Present() && !e.delta.IsString() {
		return wire.WrongType("delta", e.delta, "a string")
	}
	if e.name.Present() && !e.name.IsString() {
		return wire.WrongType("toolCallName", e.name, "a string")
	}
	id := g.r.Text(e.call)
	if e.kind == "TOOL_CALL_RESULT" {
		return g.result(id, e.content, e.failure, false)
	}
	l := g.mem.callLane(g.ns, id)
	switch e.kind {
	case "TOOL_CALL_START":
		g.openCall(e, id)
	case "TOOL_CALL_CHUNK":
		if l == nil && id == "" {
			return &wire.Problem{Code: wire.BadShape, Text: "toolCallId is missing, and no call is open that the chunk could go on with"}
		}
		if l == nil {
			l = g.openCall(e, id)
			l.Chunk = true
		}
		g.args(l, l.ID, e.delta)
	case "TOOL_CALL_ARGS":
		g.args(l, id, e.delta)
	case "TOOL_CALL_END":
		if l == nil { // its start was lost
			g.end(AGUILane{Kind: callLane, Namespace: g.ns, Message: g.mem.place(g.ns).Message, ID: id})
			return nil
		}
		g.end(*l)
		g.mem.close(l)
	}
	return nil
}

// openCall emits the beginning of a call. One that a run had stopped for to
// ask a person is told once more when the answer is in, and is the same call.
func (g agui) openCall(e *aguiEvent, id string) *AGUILane {
	if g.mem.asked(id) {
		return g.mem.open(AGUILane{Kind: repeatLane, Namespace: g.ns, ID: id})
	}
	p := g.mem.place(g.ns)
	message := p.Message
	if e.parent.IsString() {
		message = g.r.Text(e.parent)
	}
	g.begin(message, "assistant")
	name := g.r.Text(e.name)
	g.r.Emit(chunks.Chunk{
		Kind: chunks.Fragment, Namespace: g.ns, Message: message, ID: id,
		Name: name, Final: name != "", ParentCall: p.Owner,
	})
	if args := g.rawArgs(e.raw, id); args != "" {
		g.r.Emit(chunks.Chunk{Kind: chunks.Fragment, Namespace: g.ns, Message: message, ID: id, Args: args, Object: true, Weak: true})
	}
	return g.mem.open(AGUILane{Kind: callLane, Namespace: g.ns, ID: id, Message: message})
}

// rawArgs gives the args that a call has in the event of LangGraph that its
// start was made of. The adapter does not pass on those that come whole, so that
// they count where no others come.
func (g agui) rawArgs(raw jsonscan.Value, id string) string {
	for e := raw.Member("data").Member("chunk").Member("tool_calls").Elements(); e.Next(); {
		args := e.Value.Member("args")
		if !args.IsObject() || g.r.Text(e.Value.Member("id")) != id {
			continue
		}
		if s := g.r.Compact(args.Raw); s != "{}" {
			return s
		}
	}
	return ""
}

// args emits a fragment of args; without a lane the call's start was lost.
func (g agui) args(l *AGUILane, id string, delta jsonscan.Value) {
	s := g.r.Text(delta)
	if s == "" || l != nil && l.Kind == repeatLane {
		return
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Namespace: g.ns, ID: id, Args: s}
	if l != nil {
		c.Message = l.Message
	} else {
		c.Message, c.Opens = g.mem.place(g.ns).Message, true
	}
	g.r.Emit(c)
}

// result emits a result: text, or a list of content parts. Only a tool message
// of a snapshot can say that the tool failed.
func (g agui) result(id string, content, failure jsonscan.Value, repeated bool) *wire.Problem {
	c := chunks.Chunk{Kind: chunks.Result, Namespace: g.ns, ID: id, Repeated: repeated}
	switch {
	case content.IsArray():
		c.Content = g.r.Compact(content.Raw)
	case content.Present() && !content.IsString():
		return wire.WrongType("content", content, "a string or a list of parts")
	default:
		c.Text = g.r.Text(content)
	}
	if s := g.r.FailureText(failure); s != "" && s != "null" {
		c.Status = "error"
		if c.Text == "" && c.Content == "" {
			c.Text = s
		}
	}
	if !repeated {
		g.mem.answered(id)
	}
	g.r.Emit(c)
	return nil
}

// subagent follows the runs of subagents, each of which is a namespace.
func (g agui) subagent(e *aguiEvent) {
	switch e.kind {
	case "SUBAGENT_STARTED":
		g.mem.place(g.ns).Owner = wire.Keep(g.r.Text(e.owner))
	case "SUBAGENT_ERROR":
		g.r.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: g.ns, Text: g.r.FailureText(e.failure)})
		g.mem.leave(g.ns)
	case "SUBAGENT_FINISHED":
		if p := g.mem.place(g.ns); p.Begun {
			g.over(p.Message)
		}
		g.mem.leave(g.ns)
	}
}

// runStarted begins a run. Its input repeats the conversation so far, with the
// answers a frontend gave since the last run.
func (g agui) runStarted(e *aguiEvent) *wire.Problem {
	g.mem.Lanes, g.mem.Places, g.mem.Asked = nil, nil, false
	g.r.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: g.r.Text(e.run)})
	return g.echo(e.input.Member("messages"))
}

// runFinished reads the outcome: {"type":"success"|"interrupt"|"cancelled"},
// or, before 1.0, the word alone with the interrupt beside it.
func (g agui) runFinished(e *aguiEvent) (problem *wire.Problem) {
	word, status := e.outcome, "completed"
	if e.outcome.IsObject() {
		word = e.outcome.Member("type")
	}
	switch word.Str {
	case "interrupt":
		status = "interrupted"
		list := e.outcome.Member("interrupts")
		if list.Present() && !list.IsArray() {
			problem = wire.WrongType("outcome.interrupts", list, "a list")
		}
		for i := list.Elements(); i.Next(); {
			g.await(i.Value)
		}
		if e.interrupt.IsObject() {
			g.await(e.interrupt)
		}
	case "cancelled":
		status = "cancelled"
	default:
		if g.mem.Asked {
			status = "interrupted"
		}
	}
	g.r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status})
	g.mem.Lanes, g.mem.Places = nil, nil
	return problem
}

// await reads an interrupt: {"id","reason","toolCallId"?}.
func (g agui) await(v jsonscan.Value) {
	c := chunks.Chunk{Kind: chunks.Await, Namespace: g.ns, Why: "interrupt"}
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id":
			c.InterruptID = g.r.Text(m.Value)
		case "reason":
			if s := g.r.Text(m.Value); s != "" {
				c.Why = s
			}
		case "toolCallId":
			c.ID = g.r.Text(m.Value)
		}
	}
	g.mem.ask(c.ID)
	g.r.Emit(c)
}

// runError ends the run; abort is how clients spell that it was stopped.
func (g agui) runError(e *aguiEvent) {
	status := "error"
	if e.code.Str == "abort" {
		status = "cancelled"
	}
	g.r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status, Text: g.r.FailureText(e.failure)})
	g.mem.Lanes, g.mem.Places = nil, nil
}
