package lifecycle

import (
	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Parts is the content of a message. One part at a time is open, text or
// reasoning.
type Parts struct {
	N      int    // parts that began
	Kind   string // of the open part, "" if there is none
	Wire   int    // its number on the wire
	Sent   int    // bytes that were emitted
	Held   []byte // bytes not emitted yet; events share those before them
	SentAt events.Time
	Joiner chunks.Joiner
	// Ended: the end of the open part was emitted, with that of its message.
	Ended bool
}

func (st *Step) text(c *chunks.Chunk) {
	if c.Text == "" {
		return
	}
	m := st.message(c)
	if m == nil {
		return
	}
	kind := "text"
	if c.Kind == chunks.Reasoning {
		kind = "reasoning"
	}
	m.Overtaken = false
	p := &m.Parts
	if p.Kind != kind || p.Wire != c.Part {
		st.endPart(m)
		*p = Parts{N: p.N + 1, Kind: kind, Wire: c.Part}
		st.startOthers(m, -1)
	}
	p.Ended = false
	p.hold(p.Joiner.Join(c.Text))
	st.emitText(m, false)
}

// heldSize is the least capacity of held content, in bytes.
const heldSize = 128

// hold adds to the content that is not emitted yet. It never overwrites emitted
// bytes, because events share them.
func (p *Parts) hold(text string) {
	if len(p.Held)+len(text) > cap(p.Held) {
		held := make([]byte, 0, len(p.Held)+max(heldSize, len(text), len(p.Held)))
		p.Held = append(held, p.Held...)
	}
	p.Held = append(p.Held, text...)
}

func (st *Step) emitText(m *Message, all bool) {
	p := &m.Parts
	switch {
	case len(p.Held) == 0:
		return
	case st.Rules.Texts == Off:
		p.Sent += len(p.Held)
		p.Held = nil
		return
	case all || p.Sent == 0 || st.Rules.Texts == Every:
	case len(p.Held) < st.Rules.DeltaBytes && st.State.Time-p.SentAt < st.Rules.window(p.Sent):
		return
	}
	for len(p.Held) > 0 {
		piece := prefix(p.Held, st.Rules.MaxEventText)
		e := st.emitMessage(events.AgentResponseChunk, m)
		e.Kind, e.Part, e.Offset, e.Content = p.Kind, p.N-1, events.OffsetAt(p.Sent), chunks.Shared(piece)
		p.Sent += len(piece)
		p.Held = p.Held[len(piece):]
	}
	p.SentAt = st.State.Time
}

func (st *Step) partEnd(c *chunks.Chunk) {
	if m := st.current(c); m != nil && m.Parts.Wire == c.Part {
		st.endPart(m)
	}
}

func (st *Step) endPart(m *Message) {
	p := &m.Parts
	if p.Kind == "" || p.Ended {
		p.Kind = ""
		return
	}
	p.hold(p.Joiner.End())
	st.emitText(m, true)
	if st.Rules.Texts != Off {
		e := st.emitMessage(events.PartFinished, m)
		e.Kind, e.Part, e.Offset = p.Kind, p.N-1, events.OffsetAt(p.Sent)
	}
	*p = Parts{N: p.N}
}
