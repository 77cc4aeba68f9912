package encode

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/events"
)

// langGraph encodes a run as the stream of a run of the LangGraph platform, as the
// method joinStream of its SDK reads it: messages are tuples of a message chunk and
// its metadata, and results are ToolMessages.
//
// The client appends each chunk to the message of the same id, so a repeated chunk
// doubles a text. The id of a frame is the sequence of the last event in it, and each
// frame has all of the events after the frame before it, so a client that resumes
// after an id gets the rest only. Frames without an id are harmless if repeated. To
// resume, the encoder is passed the run from its start: the frames of the events that
// the client has are omitted.
type langGraph struct {
	dst       []byte // while an event is encoded
	thread    string
	run       string // the run whose end is the end of the stream; "" means the first
	since     uint64 // the client has the events up to this sequence
	live      bool
	done      bool
	messages  lgMessages
	calls     []*lgCall // the open ones
	held      lgHeld
	abandoned *lgMessage // the last message that ended, if it was abandoned
}

// lgHeld is a chunk of a message that is not written yet.
type lgHeld struct {
	of    *lgMessage // nil if there is none
	chunk lgChunk
	size  int
	seq   uint64 // of the last event in it
}

// lgChunk is a piece of a message. Texts are appended, and pieces of calls are
// appended by index.
type lgChunk struct {
	Type             string        `json:"type"`
	ID               string        `json:"id"`
	Content          string        `json:"content"`
	ToolCallChunks   []lgCallChunk `json:"tool_call_chunks,omitempty"`
	AdditionalKwargs lgKwargs      `json:"additional_kwargs"`
	ResponseMetadata *lgResponse   `json:"response_metadata,omitempty"`
	UsageMetadata    *lgUsage      `json:"usage_metadata,omitempty"`
	ToolCallID       string        `json:"tool_call_id,omitempty"` // of a ToolMessage, as the rest
	Name             string        `json:"name,omitempty"`
	Status           string        `json:"status,omitempty"`
}

type lgCallChunk struct {
	Type  string  `json:"type"`
	Index int     `json:"index"`
	ID    *string `json:"id"`
	Name  *string `json:"name"`
	Args  string  `json:"args"`
}

type lgKwargs struct {
	Reasoning string      `json:"reasoning_content,omitempty"`
	Streamer  *aiCallData `json:"streamer,omitempty"` // of a ToolMessage
}

type lgResponse struct {
	FinishReason string `json:"finish_reason,omitempty"`
}

// lgMetadata is the second element of a tuple.
type lgMetadata struct {
	ThreadID     string `json:"thread_id"`
	RunID        string `json:"run_id"`
	CheckpointNS string `json:"langgraph_checkpoint_ns"`
	Choice       int    `json:"choice,omitempty"`
}

// Open appends the frame metadata. It has no id, because it is not about an event.
func (l *langGraph) Open(dst []byte, o Opening) []byte {
	l.thread, l.run, l.since = o.Session, o.Run, o.Since
	if o.Since > 0 {
		return append(dst, ": joined\n"...)
	}
	return lgFrame(dst, 0, "metadata", struct {
		RunID    string `json:"run_id"`
		ThreadID string `json:"thread_id"`
	}{o.Run, o.Session})
}

// Event appends the frames of an event.
func (l *langGraph) Event(dst []byte, r events.Record) []byte {
	if l.done || !aiShows(r.Type) {
		return dst
	}
	var e events.Event
	if json.Unmarshal(r.Data, &e) != nil {
		// Nothing but its type is certain. A call or run that ends here must end.
		e = events.Event{Type: r.Type, EventID: r.ID, Call: r.Call, Run: l.run, Status: events.Error}
	}
	l.dst = dst
	if r.Seq > l.since && l.held.seq <= l.since {
		l.held = lgHeld{} // the client has it
	}
	l.apply(&e, r.Seq)
	if l.held.of != nil && (l.live || l.held.size > maxHeld) {
		l.sendHeld()
	}
	dst, l.dst = l.dst, nil
	return dst
}

func (l *langGraph) apply(e *events.Event, seq uint64) {
	switch e.Type {
	case events.RunFinished:
		l.endRun(e, seq)
	case events.MessageStarted:
		l.startMessage(e, seq)
	case events.MessageFinished:
		l.endMessage(e, seq)
	case events.AgentResponseChunk:
		l.content(e, seq)
	case events.ToolCallStart:
		l.startCall(e, seq)
	case events.ToolCallArgsDelta:
		if c := l.call(e.Call); c != nil {
			l.addArgs(c, c.args.delta(e), seq)
		}
	case events.ToolCallArgsComplete:
		if c := l.call(e.Call); c != nil {
			c.complete = e.ArgsValid == nil || *e.ArgsValid
			l.addArgs(c, c.args.rest(e), seq)
		}
	case events.ToolCallAwaiting:
		l.await(e, seq)
	case events.ToolCallProgress:
		l.send(seq, "custom", map[string]lgProgress{"streamer_progress": {callID(e), e.Progress, e.Percent}})
	case events.ToolCallResult:
		l.result(e, seq)
	}
}

// Live appends the chunk of the history that is held. Later chunks are not held.
func (l *langGraph) Live(dst []byte, _ uint64) []byte {
	l.live = true
	l.dst = dst
	l.sendHeld()
	dst, l.dst = l.dst, nil
	return dst
}

// Heartbeat appends a comment without the empty line that would end a frame: clients
// before 1.15 read that as an event without data.
func (l *langGraph) Heartbeat(dst []byte) []byte { return append(dst, ": hb\n"...) }

// End appends nothing: the connection is cut off, and the client resumes.
func (l *langGraph) End(dst []byte, _ Ending) []byte { return dst }

// Done reports whether the run has ended.
func (l *langGraph) Done() bool { return l.done }

// send appends a frame after the chunk that is held, unless the client has it.
func (l *langGraph) send(seq uint64, event string, v any) {
	l.sendHeld()
	if seq == 0 || seq > l.since {
		l.dst = lgFrame(l.dst, seq, event, v)
	}
}

// sendHeld appends the frame of the chunk that is held.
func (l *langGraph) sendHeld() {
	h := l.held
	l.held = lgHeld{}
	if h.of != nil && h.seq > l.since {
		l.dst = lgFrame(l.dst, h.seq, messagesEvent(h.of.place.Namespace), []any{h.chunk, l.metadata(h.of.place)})
	}
}

func (l *langGraph) metadata(p events.Place) lgMetadata {
	return lgMetadata{ThreadID: l.thread, RunID: l.run, CheckpointNS: p.Namespace, Choice: p.Choice}
}

// hold returns the chunk of a message to which an event is added.
func (l *langGraph) hold(m *lgMessage, seq uint64) *lgChunk {
	if l.held.of != m {
		l.sendHeld()
		l.held = lgHeld{of: m, chunk: lgChunk{Type: m.chunkType(), ID: m.name}}
	}
	l.held.seq = seq
	return &l.held.chunk
}

// content adds text to the chunk of its message.
func (l *langGraph) content(e *events.Event, seq uint64) {
	m := l.messages.of(e)
	if m.role == "tool" || e.Content == "" {
		return
	}
	c := l.hold(m, seq)
	l.held.size += len(e.Content)
	if e.Kind == "reasoning" {
		c.AdditionalKwargs.Reasoning += e.Content
	} else {
		c.Content += e.Content
	}
}

// startMessage begins a message. A message that was abandoned is removed if this one
// replaces it, unless it has calls, whose results remain.
func (l *langGraph) startMessage(e *events.Event, seq uint64) {
	m, old := l.messages.start(e), l.abandoned
	if old == nil || m.role != "ai" || m.place.Namespace != old.place.Namespace {
		return
	}
	l.abandoned = nil
	l.send(seq, messagesEvent(old.place.Namespace), []any{lgChunk{Type: "remove", ID: old.name}, l.metadata(old.place)})
}

// endMessage appends the last chunk of a message.
func (l *langGraph) endMessage(e *events.Event, seq uint64) {
	m := l.messages.of(e)
	l.messages.remove(m)
	if m.role != "ai" {
		return
	}
	l.abandoned = nil
	if e.Superseded && m.calls == 0 {
		l.abandoned = m
	}
	c := l.hold(m, seq)
	c.UsageMetadata = lgUsageOf(e.Usage)
	if e.FinishReason != "" {
		c.ResponseMetadata = &lgResponse{e.FinishReason}
	}
	l.sendHeld()
}

func (l *langGraph) startCall(e *events.Event, seq uint64) {
	if e.Call == "" || l.call(e.Call) != nil {
		return
	}
	m := l.messages.of(e)
	c := newLGCall(e, m)
	l.calls = append(l.calls, c)
	k := l.hold(m, seq)
	k.ToolCallChunks = append(k.ToolCallChunks, lgCallChunk{Type: "tool_call_chunk", Index: c.index, ID: &c.id, Name: &c.name})
	l.held.size += len(c.id) + len(c.name)
}

// addArgs adds args to the chunk of the message of a call.
func (l *langGraph) addArgs(c *lgCall, text string, seq uint64) {
	if text == "" {
		return
	}
	k := l.hold(c.of, seq)
	l.held.size += len(text)
	for i := range k.ToolCallChunks {
		if k.ToolCallChunks[i].Index == c.index {
			k.ToolCallChunks[i].Args += text
			return
		}
	}
	k.ToolCallChunks = append(k.ToolCallChunks, lgCallChunk{Type: "tool_call_chunk", Index: c.index, Args: text})
}

// lgProgress is the data of a progress.
type lgProgress struct {
	ToolCallID string   `json:"tool_call_id"`
	Message    string   `json:"message,omitempty"`
	Percent    *float64 `json:"percent,omitempty"`
}

// await appends the interrupt of a call that waits for a person.
func (l *langGraph) await(e *events.Event, seq uint64) {
	type interrupt struct {
		ID    string  `json:"id"`
		Value lgAsked `json:"value"`
	}
	l.send(seq, "values", map[string][]interrupt{"__interrupt__": {{interruptID(e), lgAskedOf(e)}}})
}

// result appends the ToolMessage of a call.
func (l *langGraph) result(e *events.Event, seq uint64) {
	var p events.Place
	if e.Place != nil {
		p = *e.Place
	}
	l.send(seq, messagesEvent(p.Namespace), []any{lgToolMessage(e), l.metadata(p)})
	l.calls = slices.DeleteFunc(l.calls, func(c *lgCall) bool { return c.call == e.Call })
}

// endRun appends the end of the stream, also for a client that has all events.
func (l *langGraph) endRun(e *events.Event, seq uint64) {
	if l.run != "" && e.Run != l.run {
		return
	}
	l.sendHeld()
	l.closeCut(e, seq)
	if e.Status == events.Error {
		l.dst = lgFrame(l.dst, 0, "error", lgErrorOf(e))
	}
	l.dst = lgFrame(l.dst, 0, "end", nil)
	l.done = true
}

// closeCut appends the ToolMessages of the calls whose args are incomplete or invalid.
// They are about the same event, so only the last has its id: a client that has the id
// has all of them.
func (l *langGraph) closeCut(e *events.Event, seq uint64) {
	l.calls = slices.DeleteFunc(l.calls, func(c *lgCall) bool { return c.complete })
	if seq <= l.since {
		return
	}
	for i, c := range l.calls {
		id := uint64(0)
		if i == len(l.calls)-1 {
			id = seq
		}
		p := c.of.place
		l.dst = lgFrame(l.dst, id, messagesEvent(p.Namespace), []any{lgToolMessage(c.cut(e)), l.metadata(p)})
	}
}

type lgError struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

func lgErrorOf(e *events.Event) lgError {
	return lgError{"RunError", reasonText(e.Reason, "The run failed.")}
}

// call returns the open call of a name, or nil.
func (l *langGraph) call(name string) *lgCall {
	i := slices.IndexFunc(l.calls, func(c *lgCall) bool { return c.call == name })
	if i < 0 {
		return nil
	}
	return l.calls[i]
}

// lgFrame appends a frame. A frame with id 0 has no id.
func lgFrame(dst []byte, id uint64, event string, v any) []byte {
	from := len(dst)
	if id > 0 {
		dst = append(strconv.AppendUint(append(dst, "id: "...), id, 10), '\n')
	}
	dst = append(append(append(dst, "event: "...), event...), '\n')
	at := len(dst)
	if dst = dataFrame(dst, v); len(dst) == at {
		return dst[:from] // v has invalid JSON
	}
	return dst
}

// messagesEvent returns the name of the event of messages of a namespace: messages and
// the subgraph. A last name with a colon is a task of a node, which does not belong to
// the subgraph. Control characters would end the line, so they are replaced.
func messagesEvent(namespace string) string {
	names := splitNamespace(namespace)
	if n := len(names); n > 0 && strings.Contains(names[n-1], ":") {
		names = names[:n-1]
	}
	event := strings.Join(append([]string{"messages"}, names...), "|")
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, event)
}
