package lifecycle

import (
	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Parts is the content of a message as far as it is told: one part at a time
// is open, text or reasoning.
type Parts struct {
	N      int           `json:"n,omitempty"`    // parts begun
	Kind   string        `json:"kind,omitempty"` // of the open one, "" if none is
	Wire   int           `json:"wire,omitempty"` // its number on the wire
	Sent   int           `json:"sent,omitempty"` // bytes told
	Held   []byte        `json:"held,omitempty"` // bytes not told yet; what stood before them is the events'
	SentAt events.Time   `json:"sent_at,omitempty"`
	Joiner chunks.Joiner `json:"joiner,omitzero"`
}

// text takes a piece of content.
func (st *Step) text(c *chunks.Chunk) {
	if c.Text == "" {
		return
	}
	m := st.current(c)
	if m == nil {
		if m = st.message(c); m == nil {
			return
		}
	}
	kind := "text"
	if c.Kind == chunks.Reasoning {
		kind = "reasoning"
	}
	p := &m.Parts
	if p.Kind != kind || p.Wire != c.Part {
		st.endPart(m)
		*p = Parts{N: p.N + 1, Kind: kind, Wire: c.Part}
		st.settle(m, -1)
	}
	p.hold(p.Joiner.Join(c.Text))
	st.tellText(m, false)
}

// heldRoom is how much room content takes at once, in bytes.
const heldRoom = 128

// hold adds to the content that is not told yet. What was told is not written
// over, since events share it.
func (p *Parts) hold(text string) {
	if len(p.Held)+len(text) > cap(p.Held) {
		room := make([]byte, 0, len(p.Held)+max(heldRoom, len(text), len(p.Held)))
		p.Held = append(room, p.Held...)
	}
	p.Held = append(p.Held, text...)
}

// tellText sends held content: the first at once, then as the rules ask.
func (st *Step) tellText(m *Message, all bool) {
	p := &m.Parts
	switch {
	case len(p.Held) == 0:
		return
	case st.Rules.Texts == Off:
		p.Sent += len(p.Held)
		p.Held = nil
		return
	case all || p.Sent == 0 || st.Rules.Texts == Every:
	case len(p.Held) < st.Rules.DeltaBytes && st.State.Time-p.SentAt < events.Time(st.Rules.DeltaEvery):
		return
	}
	for len(p.Held) > 0 {
		piece := cut(p.Held, st.Rules.MaxEventText)
		e := st.emitMessage(events.AgentResponseChunk, m)
		e.Kind, e.Part, e.Offset, e.Content = p.Kind, p.N-1, events.OffsetAt(p.Sent), chunks.Shared(piece)
		p.Sent += len(piece)
		p.Held = p.Held[len(piece):]
	}
	p.SentAt = st.State.Time
}

// partEnd takes the end of a content part.
func (st *Step) partEnd(c *chunks.Chunk) {
	if m := st.current(c); m != nil && m.Parts.Wire == c.Part {
		st.endPart(m)
	}
}

// endPart tells that the open part, if any, is over.
func (st *Step) endPart(m *Message) {
	p := &m.Parts
	if p.Kind == "" {
		return
	}
	p.hold(p.Joiner.End())
	st.tellText(m, true)
	if st.Rules.Texts != Off {
		e := st.emitMessage(events.PartFinished, m)
		e.Kind, e.Part, e.Offset = p.Kind, p.N-1, events.OffsetAt(p.Sent)
	}
	*p = Parts{N: p.N}
}
