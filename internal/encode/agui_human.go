package encode

import "streamer/internal/events"

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
		h = &agHuman{place: placeOf(e), id: messageID(e.EventID)}
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
	if h == nil || !h.open && a.known.has(h.place.MessageID, h.text) {
		return
	}
	a.sendHuman(h)
	if h.open {
		a.send(agEvent{Type: "TEXT_MESSAGE_END", MessageID: h.id})
	}
}

func (a *agUI) endsHuman(e *events.Event) bool {
	return a.question != nil && e.Type != events.HumanMessage && (e.Type == events.RunFinished || graphOf(a.question.place.Namespace) == graphOf(namespaceOf(e)))
}
