package encode

import (
	"encoding/json"
	"slices"
	"strconv"

	"streamer/internal/events"
)

// agMessage is an open message. Its texts are one text in the client, and its calls
// belong to it there.
type agMessage struct {
	place  events.Place
	id     string
	open   bool // TEXT_MESSAGE_START was sent
	hidden bool // it is written for the model only

	reasoning bool // it is reasoning only, of which no part has begun
}

type agTextData struct {
	MessageID    string          `json:"messageId,omitempty"` // its name in events
	Namespace    string          `json:"namespace,omitempty"`
	Choice       int             `json:"choice,omitempty"`
	FinishReason string          `json:"finishReason,omitempty"` // the rest is that of the end
	Usage        json.RawMessage `json:"usage,omitempty"`
	Superseded   bool            `json:"superseded,omitempty"`
}

func (m *agMessage) data() agTextData {
	return agTextData{MessageID: m.place.MessageID, Namespace: m.place.Namespace, Choice: m.place.Choice}
}

// message returns the open message of an event. It begins with its first event.
func (a *agUI) message(e *events.Event) *agMessage {
	place := placeOf(e)
	if i := slices.IndexFunc(a.messages, func(m *agMessage) bool { return m.place == place }); i >= 0 {
		return a.messages[i]
	}
	m := &agMessage{place: place, id: a.ids.take(e, messageID(e.EventID)), hidden: isPrompt(e.Role), reasoning: e.Role == "reasoning"}
	a.messages = append(a.messages, m)
	return m
}

// startMessage begins a message. An open one in the same place has ended.
func (a *agUI) startMessage(e *events.Event) {
	if e.Place != nil {
		a.endMessageAt(*e.Place, &events.Event{})
	}
	a.message(e)
}

func (a *agUI) endMessage(e *events.Event) {
	if e.Place != nil {
		a.endMessageAt(*e.Place, e)
	}
}

// endMessageAt ends the message in a place, if one is open.
func (a *agUI) endMessageAt(place events.Place, e *events.Event) {
	for _, p := range slices.Clone(a.parts) {
		if p.place == place {
			a.endPartOf(p)
		}
	}
	i := slices.IndexFunc(a.messages, func(m *agMessage) bool { return m.place == place })
	if i < 0 {
		return
	}
	m := a.messages[i]
	a.messages = slices.Delete(a.messages, i, i+1)
	if m.open {
		data := m.data()
		data.FinishReason, data.Usage, data.Superseded = e.FinishReason, e.Usage, e.Superseded
		a.send(agEvent{Type: "TEXT_MESSAGE_END", MessageID: m.id, Metadata: &agMetadata{data}})
	}
}

func (a *agUI) begin(m *agMessage) {
	if !m.open {
		m.open = true
		a.send(agEvent{
			Type: "TEXT_MESSAGE_START", MessageID: m.id, Role: "assistant",
			SubagentRunID: a.tag(m.id, m.place.Namespace), Metadata: &agMetadata{m.data()},
		})
	}
}

func (a *agUI) content(e *events.Event) {
	m := a.message(e)
	if m.hidden || e.Content == "" {
		return
	}
	s, kind := source{place: m.place, part: e.Part}, contentKind(e)
	if i := findPart(a.parts, s); i >= 0 && a.parts[i].kind != kind {
		a.endPartOf(a.parts[i])
	}
	if findPart(a.parts, s) < 0 {
		a.startPart(m, textPart{source: s, kind: kind, id: m.id})
	}
	a.deltas.add(s, e.Content)
}

func (a *agUI) startPart(m *agMessage, p textPart) {
	if p.kind == "text" {
		a.begin(m)
	} else {
		if p.id = m.id; !m.reasoning {
			p.id += "_r" + strconv.Itoa(p.part)
		}
		m.reasoning = false
		tag := a.tag(p.id, m.place.Namespace)
		a.send(agEvent{Type: "REASONING_START", MessageID: p.id, SubagentRunID: tag})
		a.send(agEvent{Type: "REASONING_MESSAGE_START", MessageID: p.id, Role: "reasoning", SubagentRunID: tag, Metadata: &agMetadata{m.data()}})
	}
	a.parts = append(a.parts, p)
}

func (a *agUI) sendContent(s source, text string) {
	i := findPart(a.parts, s)
	if i < 0 || text == "" {
		return
	}
	kind := "TEXT_MESSAGE_CONTENT"
	if a.parts[i].kind == "reasoning" {
		kind = "REASONING_MESSAGE_CONTENT"
	}
	a.sendDelta(kind, "messageId", a.parts[i].id, text)
}

func (a *agUI) endPart(e *events.Event) {
	if i := findPart(a.parts, sourceOf(e)); i >= 0 {
		a.endPartOf(a.parts[i])
	}
}

// endPartOf ends an open content part. Text ends with its message.
func (a *agUI) endPartOf(p textPart) {
	a.sendContent(p.source, a.deltas.take(p.source))
	if p.kind == "reasoning" {
		a.send(agEvent{Type: "REASONING_MESSAGE_END", MessageID: p.id})
		a.send(agEvent{Type: "REASONING_END", MessageID: p.id})
	}
	a.parts = slices.DeleteFunc(a.parts, func(o textPart) bool { return o.source == p.source })
}

// agHuman is a message of a user. It is held until it is whole, because the client may
// have it already. Nothing states where it ends: it does before the next event in its
// graph.
type agHuman struct {
	place events.Place
	id    string // of the message in the client
	text  string // that is not sent yet
	open  bool   // TEXT_MESSAGE_START was sent
}

func (a *agUI) human(e *events.Event) {
	a.startRun(e)
	h := a.question
	if h == nil || h.place != placeOf(e) || e.Offset.Bytes() <= 0 {
		a.endHuman()
		h = &agHuman{place: placeOf(e), id: a.ids.take(e, messageID(e.EventID))}
		a.question = h
	}
	if h.text += e.Content; h.open || len(h.text) > maxHeld {
		a.sendHuman(h)
	}
}

func (a *agUI) sendHuman(h *agHuman) {
	if h.text == "" {
		return
	}
	if !h.open {
		h.open = true
		data := agTextData{MessageID: h.place.MessageID, Namespace: h.place.Namespace}
		a.send(agEvent{
			Type: "TEXT_MESSAGE_START", MessageID: h.id, Role: "user",
			SubagentRunID: a.tag(h.id, h.place.Namespace), Metadata: &agMetadata{data},
		})
	}
	a.sendDelta("TEXT_MESSAGE_CONTENT", "messageId", h.id, h.text)
	h.text = ""
}

// endHuman ends the message of a user that is open, or appends it as a whole unless
// the client has it.
func (a *agUI) endHuman() {
	h := a.question
	a.question = nil
	if h == nil {
		return
	}
	if !h.open {
		h.text = a.known.rest(h.place.MessageID, h.text)
	}
	a.sendHuman(h)
	if h.open {
		a.send(agEvent{Type: "TEXT_MESSAGE_END", MessageID: h.id})
	}
}

func (a *agUI) endsHuman(e *events.Event) bool {
	return a.question != nil && e.Type != events.HumanMessage && (e.Type == events.RunFinished || graphOf(a.question.place.Namespace) == graphOf(namespaceOf(e)))
}
