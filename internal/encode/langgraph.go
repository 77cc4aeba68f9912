package encode

import (
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
	output
	seq      uint64 // of the event that is encoded
	thread   string
	run      string // the run whose end is the end of the stream; "" means the first
	since    uint64 // the client has the events up to this sequence
	live     bool
	started  bool
	done     bool
	messages lgMessages
	calls    []*lgCall // the open ones
	callIDs
	pending   lgPending
	abandoned *lgMessage // the last message that ended, if it was abandoned
}

// lgPending is a chunk of a message that is not written yet.
type lgPending struct {
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
	Reasoning string    `json:"reasoning_content,omitempty"`
	Streamer  *callData `json:"streamer,omitempty"` // of a ToolMessage
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

func (m *lgMetadata) append(dst []byte) []byte {
	dst = events.AppendQuoted(append(dst, `{"thread_id":`...), m.ThreadID)
	dst = appendMember(dst, "run_id", m.RunID)
	dst = appendMember(dst, "langgraph_checkpoint_ns", m.CheckpointNS)
	if m.Choice != 0 {
		dst = strconv.AppendInt(append(dst, `,"choice":`...), int64(m.Choice), 10)
	}
	return append(dst, '}')
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

func (l *langGraph) Event(dst []byte, r events.Record, e *events.Event) []byte {
	if l.done || !isShown(r.Type) || !l.started && !precedesRun(r.Type) {
		return dst
	}
	l.dst, l.seq = dst, r.Seq
	if r.Seq > l.since && l.pending.seq <= l.since {
		l.pending = lgPending{} // the client has it
	}
	dispatch(l, e)
	if l.pending.of != nil && (l.live || l.pending.size > maxHeld) {
		l.sendPending()
	}
	return l.take()
}

// precedesRun reports whether an event of a type between two runs is shown in the later
// one: what people asked or answered, and the results for which a run waited.
func precedesRun(t events.Type) bool {
	return t == events.RunStarted || t == events.HumanMessage || t == events.ToolCallResult
}

// startRun begins the run. The frame metadata is its start in the stream.
func (l *langGraph) startRun(*events.Event) { l.started = true }

func (l *langGraph) human(e *events.Event) {
	if e.Content == "" {
		return
	}
	m, _ := l.messages.human(e)
	l.hold(m).Content += e.Content
	l.pending.size += len(e.Content)
}

// endPart does nothing: chunks of different kinds do not interfere.
func (l *langGraph) endPart(*events.Event) {}

// Live appends the chunk of the history that is held. Later chunks are not held.
func (l *langGraph) Live(dst []byte, _ uint64) []byte {
	l.live = true
	l.dst = dst
	l.sendPending()
	return l.take()
}

func (l *langGraph) Done() bool { return l.done }

// send appends a frame after the chunk that is held, unless the client has it.
func (l *langGraph) send(event string, v any) {
	l.sendPending()
	if l.seq > l.since {
		l.dst = lgFrame(l.dst, l.seq, event, v)
	}
}

func (l *langGraph) sendPending() {
	h := l.pending
	l.pending = lgPending{}
	if h.of == nil || h.seq <= l.since {
		return
	}
	event, metadata := messagesEvent(h.of.place.Namespace), l.metadata(h.of.place)
	if c := &h.chunk; c.ResponseMetadata == nil && c.UsageMetadata == nil {
		l.dst = append(lgHead(l.dst, h.seq, event), `data: [{"type":"`...)
		l.dst = append(c.appendDelta(l.dst), ',')
		l.dst = append(metadata.append(l.dst), "]\n\n"...)
		return
	}
	l.dst = lgFrame(l.dst, h.seq, event, []any{h.chunk, metadata})
}

// appendDelta appends the rest of a chunk that has only text and args, after the
// beginning of its type: the bytes of encoding/json without its allocations, because
// most frames are of this kind.
func (c *lgChunk) appendDelta(dst []byte) []byte {
	dst = append(append(dst, c.Type...), '"')
	dst = appendMember(dst, "id", c.ID)
	dst = appendMember(dst, "content", c.Content)
	for i, k := range c.ToolCallChunks {
		if i == 0 {
			dst = append(dst, `,"tool_call_chunks":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, `{"type":"tool_call_chunk","index":`...), int64(k.Index), 10)
		dst = appendOptional(dst, "id", k.ID)
		dst = appendOptional(dst, "name", k.Name)
		dst = append(appendMember(dst, "args", k.Args), '}')
	}
	if len(c.ToolCallChunks) > 0 {
		dst = append(dst, ']')
	}
	dst = append(dst, `,"additional_kwargs":{`...)
	if r := c.AdditionalKwargs.Reasoning; r != "" {
		dst = events.AppendQuoted(append(dst, `"reasoning_content":`...), r)
	}
	return append(dst, "}}"...)
}

// appendOptional appends a member of an object after another one. It is null if it is
// absent.
func appendOptional(dst []byte, name string, value *string) []byte {
	if value != nil {
		return appendMember(dst, name, *value)
	}
	return append(append(append(dst, `,"`...), name...), `":null`...)
}

func (l *langGraph) metadata(p events.Place) lgMetadata {
	return lgMetadata{ThreadID: l.thread, RunID: l.run, CheckpointNS: p.Namespace, Choice: p.Choice}
}

// hold returns the chunk of a message to which an event is added.
func (l *langGraph) hold(m *lgMessage) *lgChunk {
	if l.pending.of != m {
		l.sendPending()
		l.pending = lgPending{of: m, chunk: lgChunk{Type: m.chunkType(), ID: m.name}}
	}
	l.pending.seq = l.seq
	return &l.pending.chunk
}

func (l *langGraph) content(e *events.Event) {
	m := l.messages.of(e)
	if m.role == "tool" || e.Content == "" {
		return
	}
	c := l.hold(m)
	l.pending.size += len(e.Content)
	if e.Kind == "reasoning" {
		c.AdditionalKwargs.Reasoning += e.Content
	} else {
		c.Content += e.Content
	}
}

// startMessage begins a message. A message that was abandoned is removed if this one
// replaces it, unless it has calls, whose results remain.
func (l *langGraph) startMessage(e *events.Event) {
	m, old := l.messages.start(e), l.abandoned
	if old == nil || m.role != "ai" || m.place.Namespace != old.place.Namespace {
		return
	}
	l.abandoned = nil
	l.send(messagesEvent(old.place.Namespace), []any{lgChunk{Type: "remove", ID: old.name}, l.metadata(old.place)})
}

func (l *langGraph) endMessage(e *events.Event) {
	m := l.messages.of(e)
	l.messages.remove(m)
	if m.role != "ai" {
		return
	}
	l.abandoned = nil
	if e.Superseded && m.calls == 0 {
		l.abandoned = m
	}
	c := l.hold(m)
	c.UsageMetadata = lgUsageOf(e.Usage)
	if e.FinishReason != "" {
		c.ResponseMetadata = &lgResponse{e.FinishReason}
	}
	l.sendPending()
}

func (l *langGraph) startCall(e *events.Event) {
	if e.Call == "" || findCall(l.calls, e.Call) != nil {
		return
	}
	m := l.messages.of(e)
	c := newLGCall(e, m, &l.callIDs)
	l.calls = append(l.calls, c)
	k := l.hold(m)
	k.ToolCallChunks = append(k.ToolCallChunks, lgCallChunk{Type: "tool_call_chunk", Index: c.index, ID: &c.id, Name: &c.name})
	l.pending.size += len(c.id) + len(c.name)
}

func (l *langGraph) sendArgs(c *lgCall, text string) {
	if text == "" {
		return
	}
	k := l.hold(c.of)
	l.pending.size += len(text)
	for i := range k.ToolCallChunks {
		if k.ToolCallChunks[i].Index == c.index {
			k.ToolCallChunks[i].Args += text
			return
		}
	}
	k.ToolCallChunks = append(k.ToolCallChunks, lgCallChunk{Type: "tool_call_chunk", Index: c.index, Args: text})
}

func (l *langGraph) addArgs(e *events.Event) {
	if c := findCall(l.calls, e.Call); c != nil {
		l.sendArgs(c, c.delta(e))
	}
}

func (l *langGraph) completeArgs(e *events.Event) {
	if c := findCall(l.calls, e.Call); c != nil {
		c.complete = e.ArgsValid == nil || *e.ArgsValid
		l.sendArgs(c, c.rest(e))
	}
}

type lgProgress struct {
	ToolCallID string   `json:"tool_call_id"`
	Message    string   `json:"message,omitempty"`
	Percent    *float64 `json:"percent,omitempty"`
}

func (l *langGraph) progress(e *events.Event) {
	if e.Type == events.ToolCallAnswered || isAutomatic(e) {
		return
	}
	l.send("custom", map[string]lgProgress{"streamer_progress": {callID(e), e.Progress, e.Percent}})
}

type lgParent struct {
	ToolCallID       string `json:"tool_call_id"`
	ParentToolCallID string `json:"parent_tool_call_id"`
}

func (l *langGraph) parent(e *events.Event) {
	l.send("custom", map[string]lgParent{"streamer_parent": {callID(e), l.of(e.ParentCall)}})
}

func (l *langGraph) await(e *events.Event) {
	type interrupt struct {
		ID    string     `json:"id"`
		Value lgQuestion `json:"value"`
	}
	l.send("values", map[string][]interrupt{"__interrupt__": {{interruptID(e), lgQuestionOf(e)}}})
}

func (l *langGraph) result(e *events.Event) {
	p, parent := placeOf(e), ""
	if c := findCall(l.calls, e.Call); c != nil {
		parent = c.data.ParentCall
	}
	l.send(messagesEvent(p.Namespace), []any{lgToolMessage(e, parent), l.metadata(p)})
	l.calls = slices.DeleteFunc(l.calls, func(c *lgCall) bool { return c.call == e.Call })
}

// endRun appends the end of the stream, also for a client that has all events.
func (l *langGraph) endRun(e *events.Event) {
	if !isLast(e, l.run) {
		return
	}
	l.sendPending()
	l.closeCut(e)
	if e.Status == events.Error {
		l.dst = lgFrame(l.dst, 0, "error", map[string]string{"error": "RunError", "message": reasonText(e.Reason, "The run failed.")})
	}
	l.dst = lgFrame(l.dst, 0, "end", nil)
	l.done = true
}

// closeCut appends the ToolMessages of the calls whose args are incomplete or invalid.
// They are about the same event, so only the last has its id: a client that has the id
// has all of them.
func (l *langGraph) closeCut(e *events.Event) {
	l.calls = slices.DeleteFunc(l.calls, func(c *lgCall) bool { return c.complete && !isErasure(e) })
	if l.seq <= l.since {
		return
	}
	for i, c := range l.calls {
		id := uint64(0)
		if i == len(l.calls)-1 {
			id = l.seq
		}
		p := c.of.place
		l.dst = lgFrame(l.dst, id, messagesEvent(p.Namespace), []any{lgToolMessage(c.cut(e), c.data.ParentCall), l.metadata(p)})
	}
}

// lgFrame appends a frame. A frame with id 0 has no id.
func lgFrame(dst []byte, id uint64, event string, v any) []byte {
	from := len(dst)
	dst = lgHead(dst, id, event)
	at := len(dst)
	if dst = dataFrame(dst, v); len(dst) == at {
		return dst[:from] // v has invalid JSON
	}
	return dst
}

// lgHead appends the lines of a frame before its data.
func lgHead(dst []byte, id uint64, event string) []byte {
	if id > 0 {
		dst = append(strconv.AppendUint(append(dst, "id: "...), id, 10), '\n')
	}
	return append(append(append(dst, "event: "...), event...), '\n')
}

// messagesEvent returns the name of the event of messages of a namespace: messages and
// the subgraph. A last name with a colon is a task of a node, which does not belong to
// the subgraph. Control characters would end the line, so they are replaced.
func messagesEvent(namespace string) string {
	if namespace == "" {
		return "messages"
	}
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
