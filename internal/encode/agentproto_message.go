package encode

import (
	"encoding/json"
	"slices"
	"strconv"

	"streamer/internal/events"
)

const (
	// maxBlock is the maximum number of bytes of a text block. A longer text has
	// several blocks.
	maxBlock = 256 << 10
	// maxQueued is the maximum number of bytes of a message that wait for the end
	// of its first block.
	maxQueued = 1 << 20
)

// apMessage is an open message. Its blocks must not interleave, but models write
// several calls at once. So only the first block is written, and the others wait.
type apMessage struct {
	*lgMessage
	started bool       // message-start was written
	blocks  []*apBlock // that have not ended in the stream
	index   int        // of the first of them
	queued  int        // bytes of the others
}

// apBlock is a content block: a text, or a call.
type apBlock struct {
	kind    string // text, reasoning or tool_call
	part    int    // of a text
	call    *lgCall
	name    string // begins the ids of its frames
	text    []byte // so far; of a call, its args as JSON
	written int    // bytes of text in deltas
	started bool
	whole   bool       // the text is written at the end only
	ended   bool       // no more text follows
	last    *apContent // of a call that has ended
}

type apContent struct {
	Type      string          `json:"type"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Text      *string         `json:"text,omitempty"`
	Reasoning *string         `json:"reasoning,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	Error     string          `json:"error,omitempty"`
}

type apDelta struct {
	Type      string     `json:"type"`
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Args      string     `json:"args,omitempty"`
	Fields    *apContent `json:"fields,omitempty"`
}

// startMessage begins a message. In a subgraph that has no other events yet, its start
// is written with the event after it.
func (a *agentProtocol) startMessage(e *events.Event) {
	m := a.addMessage(a.names.start(e))
	if ns := m.place.Namespace; ns == "" || slices.Contains(a.namespaces, ns) {
		a.begin(m)
	}
}

func (a *agentProtocol) addMessage(l *lgMessage) *apMessage {
	m := &apMessage{lgMessage: l}
	a.messages = append(a.messages, m)
	return m
}

func (a *agentProtocol) begin(m *apMessage) {
	if !m.started {
		m.started = true
		a.enter(m.place.Namespace, m.event, "")
		a.about(m, m.frame()+".start", apData{Event: "message-start", Role: m.role, ID: m.name})
	}
}

// frame begins the ids of the frames of a message.
func (m *apMessage) frame() string { return "m" + m.event.String() }

func (a *agentProtocol) about(m *apMessage, id string, d apData) {
	if m.role == "tool" {
		return // its result is the message
	}
	a.begin(m)
	d.RunID = m.name
	a.sendTo(m.place.Namespace, id, "messages", d)
}

// message returns the open message of an event. There is always one.
func (a *agentProtocol) message(e *events.Event) *apMessage {
	l := a.names.of(e)
	if m := a.open(l); m != nil {
		return m
	}
	return a.addMessage(l)
}

func (a *agentProtocol) open(l *lgMessage) *apMessage {
	return find(a.messages, func(m *apMessage) bool { return m.lgMessage == l })
}

// human adds text to a human message. Nothing states where it ends: it does before the
// next event in its graph.
func (a *agentProtocol) human(e *events.Event) {
	old := a.open(a.names.question)
	l, begins := a.names.human(e)
	if begins && old != nil {
		a.finish(old, e)
	}
	m := a.open(l)
	if m == nil {
		m = a.addMessage(l)
	}
	if e.Content != "" {
		a.addText(m, e)
	}
}

func (a *agentProtocol) endHuman() {
	if m := a.open(a.names.question); m != nil {
		a.finish(m, &events.Event{})
	}
	a.names.question = nil
}

func (a *agentProtocol) endMessage(e *events.Event) { a.finish(a.message(e), e) }

// finish ends the blocks of a message and the message. The args of its calls that are
// incomplete are invalid.
func (a *agentProtocol) finish(m *apMessage, e *events.Event) {
	for _, b := range m.blocks {
		if b.call != nil && !b.ended {
			b.cut("The arguments are incomplete.")
		}
		b.ended = true
	}
	a.advance(m)
	d := apData{Event: "message-finish"}
	if e.Type == events.MessageFinished {
		d.Reason, d.Usage = e.FinishReason, lgUsageOf(e.Usage)
	}
	a.about(m, m.frame()+".finish", d)
	a.names.remove(m.lgMessage)
	a.messages = slices.DeleteFunc(a.messages, func(o *apMessage) bool { return o == m })
}

func (a *agentProtocol) content(e *events.Event) {
	m := a.message(e)
	if e.Content == "" || m.role == "tool" {
		return
	}
	a.addText(m, e)
}

func (a *agentProtocol) addText(m *apMessage, e *events.Event) {
	kind := contentKind(e)
	b := m.lastBlock()
	if b == nil || b.ended || b.kind != kind || b.part != e.Part || len(b.text) >= maxBlock {
		if b != nil && b.call == nil {
			b.ended = true
		}
		b = &apBlock{kind: kind, part: e.Part, name: m.frame() + "." + strconv.Itoa(m.index+len(m.blocks))}
		m.blocks = append(m.blocks, b)
	}
	b.text = append(b.text, e.Content...)
	m.wait(b, len(e.Content))
	a.advance(m)
}

func (a *agentProtocol) endPart(e *events.Event) {
	m := a.message(e)
	if b := m.lastBlock(); b != nil && b.call == nil && b.part == e.Part {
		b.ended = true
		a.advance(m)
	}
}

func (m *apMessage) lastBlock() *apBlock {
	if len(m.blocks) == 0 {
		return nil
	}
	return m.blocks[len(m.blocks)-1]
}

// wait counts bytes of a block that waits. If too many bytes wait, the first block
// ends: the channel tools still has the args of its call.
func (m *apMessage) wait(b *apBlock, n int) {
	if m.blocks[0] == b {
		return
	}
	if m.queued += n; m.queued > maxQueued {
		if first := m.blocks[0]; !first.ended {
			first.cut("Too many calls are written at once.")
			first.ended = true
		}
	}
}

// advance appends what can be written of the blocks of a message, in their order.
func (a *agentProtocol) advance(m *apMessage) {
	for len(m.blocks) > 0 {
		b := m.blocks[0]
		a.startBlock(m, b)
		if b.call == nil || a.live {
			a.sendDelta(m, b)
		}
		if !b.ended && (b.call != nil || len(m.blocks) == 1) {
			return
		}
		a.finishBlock(m, b)
	}
}

func (a *agentProtocol) startBlock(m *apMessage, b *apBlock) {
	if b.started {
		return
	}
	b.started = true
	c := b.content("")
	a.about(m, b.name+".start", apData{Event: "content-block-start", Index: new(m.index), Content: c})
}

// sendDelta appends the next bytes of a block: the bytes of write without its
// allocations, because most frames are deltas.
func (a *agentProtocol) sendDelta(m *apMessage, b *apBlock) {
	text := b.text[b.written:]
	namespace := splitNamespace(m.place.Namespace)
	if len(text) == 0 || b.whole {
		return
	}
	b.written = len(b.text)
	if m.role == "tool" || !a.writes("messages", namespace) {
		return
	}
	kind, member := b.deltaKind()
	from := len(a.dst) + len("id: ")
	a.dst = strconv.AppendInt(append(append(append(a.dst, "id: "...), b.name...), '@'), int64(len(b.text)), 10)
	id := len(a.dst)
	a.dst = append(a.dst, "\nevent: messages\ndata: {\"type\":\"event\",\"event_id\":\""...)
	a.dst = append(a.dst, a.dst[from:id]...)
	a.dst = strconv.AppendUint(append(a.dst, `","seq":`...), a.seq, 10)
	a.dst = append(a.dst, `,"method":"messages","params":{"namespace":[`...)
	for i, name := range namespace {
		if i > 0 {
			a.dst = append(a.dst, ',')
		}
		a.dst = events.AppendQuoted(a.dst, name)
	}
	a.dst = strconv.AppendInt(append(a.dst, `],"timestamp":`...), int64(a.at), 10)
	a.dst = append(a.dst, `,"data":{"event":"content-block-delta"`...)
	a.dst = appendMember(a.dst, "run_id", m.name)
	a.dst = strconv.AppendInt(append(a.dst, `,"index":`...), int64(m.index), 10)
	a.dst = append(append(a.dst, `,"delta":{"type":"`...), kind...)
	a.dst = append(appendMember(append(a.dst, '"'), member, string(text)), "}}}}\n\n"...)
}

func (b *apBlock) deltaKind() (kind, member string) {
	switch b.kind {
	case "text":
		return "text-delta", "text"
	case "reasoning":
		return "reasoning-delta", "reasoning"
	}
	return "tool-call-delta", "args"
}

// content returns the content of a block with a text; of a call, with args so far.
func (b *apBlock) content(text string) *apContent {
	switch b.kind {
	case "text":
		return &apContent{Type: b.kind, Text: &text}
	case "reasoning":
		return &apContent{Type: b.kind, Reasoning: &text}
	}
	return &apContent{Type: "tool_call_chunk", ID: b.call.id, Name: b.call.name, Args: events.Quote(text)}
}

// sendSnapshot appends the args so far of the call that is the first block: one frame
// for all of the history, which replaces what the client has of them.
func (a *agentProtocol) sendSnapshot(m *apMessage) {
	if len(m.blocks) == 0 {
		return
	}
	b := m.blocks[0]
	if b.call == nil || b.whole || b.written == len(b.text) {
		return
	}
	b.written = len(b.text)
	a.about(m, b.name+"@"+strconv.Itoa(len(b.text)), apData{Event: "content-block-delta", Index: new(m.index), Delta: &apDelta{Type: "block-delta", Fields: b.content(string(b.text))}})
}

func (a *agentProtocol) finishBlock(m *apMessage, b *apBlock) {
	c := b.last
	if c == nil {
		c = b.content(string(b.text))
	}
	a.about(m, b.name+".finish", apData{Event: "content-block-finish", Index: new(m.index), Content: c})
	m.blocks = m.blocks[1:]
	m.index++
	if len(m.blocks) > 0 {
		m.queued = max(0, m.queued-m.blocks[0].size())
	}
}

func (b *apBlock) size() int {
	if b.last != nil {
		return len(b.text) + len(b.last.Args)
	}
	return len(b.text)
}

// cut ends a call whose args are incomplete. A text has its whole text.
func (b *apBlock) cut(why string) {
	if b.call == nil {
		return
	}
	b.last = &apContent{Type: "invalid_tool_call", ID: b.call.id, Name: b.call.name, Args: events.Quote(beginning(string(b.text))), Error: why}
}
