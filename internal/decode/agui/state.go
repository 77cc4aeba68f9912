package agui

import (
	"slices"

	"streamer/internal/decode/wire"
)

// Decoder is what the ag-ui format remembers between events.
type Decoder struct {
	Lanes  []AGUILane  `json:"l,omitzero"` // what is open, oldest first
	Places []AGUIPlace `json:"p,omitzero"` // a place for each namespace
	// Waiting are the calls for which a run stopped to ask a person.
	Waiting []string `json:"w,omitzero"`
	Asked   bool     `json:"a,omitzero"` // this run told of an interrupt before its end
}

// AGUILane is a text, a reasoning or a call that is open.
type AGUILane struct {
	Kind      laneKind `json:"k"`
	Namespace string   `json:"n,omitzero"`
	ID        string   `json:"i,omitzero"` // of the call, or of the message
	Message   string   `json:"m,omitzero"`
	Chunk     bool     `json:"c,omitzero"` // it has no end of its own
}

// AGUIPlace is what is known of a namespace.
type AGUIPlace struct {
	Namespace string `json:"n,omitzero"`
	Message   string `json:"m,omitzero"` // the current one
	Begun     bool   `json:"b,omitzero"` // there is one
	Owner     string `json:"o,omitzero"` // the call that a subagent runs for
}

type laneKind uint8

const (
	callLane laneKind = iota
	repeatLane
	textLane
	reasoningLane
	mutedLane // of somebody else than the assistant
)

func (k laneKind) ofCall() bool { return k == callLane || k == repeatLane }

// chunk is the event that goes on with a lane that came in chunks.
func (k laneKind) chunk() string {
	switch k {
	case callLane, repeatLane:
		return "TOOL_CALL_CHUNK"
	case reasoningLane:
		return "REASONING_MESSAGE_CHUNK"
	}
	return "TEXT_MESSAGE_CHUNK"
}

// These bound what is remembered; the oldest is forgotten first.
const (
	keptLanes   = 1000
	keptPlaces  = 100
	keptWaiting = 100
)

func (m Decoder) clone() Decoder {
	m.Lanes, m.Places, m.Waiting = slices.Clone(m.Lanes), slices.Clone(m.Places), slices.Clone(m.Waiting)
	return m
}

// open adds a lane. It holds until the next one opens or closes.
func (m *Decoder) open(l AGUILane) *AGUILane {
	l.Namespace, l.ID, l.Message = wire.Keep(l.Namespace), wire.Keep(l.ID), wire.Keep(l.Message)
	m.Lanes = append(wire.MakeRoom(m.Lanes, keptLanes), l)
	return &m.Lanes[len(m.Lanes)-1]
}

func (m *Decoder) close(l *AGUILane) {
	for i := range m.Lanes {
		if &m.Lanes[i] == l {
			m.Lanes = slices.Delete(m.Lanes, i, i+1)
			return
		}
	}
}

// callLane gives the lane of a call; without an id, the one that came in
// chunks last.
func (m *Decoder) callLane(ns, id string) *AGUILane {
	return m.find(func(l *AGUILane) bool {
		return l.Kind.ofCall() && (id == "" && l.Chunk && l.Namespace == ns || id != "" && sameID(l.ID, id))
	})
}

// lane gives the lane of a text or reasoning; without an id, the latest of its
// kind in the namespace.
func (m *Decoder) lane(kind laneKind, ns, id string) *AGUILane {
	return m.find(func(l *AGUILane) bool {
		ours := l.Kind == kind || kind == textLane && l.Kind == mutedLane
		return ours && l.Namespace == ns && sameID(l.ID, id)
	})
}

// find gives the newest lane that matches, or nil.
func (m *Decoder) find(match func(*AGUILane) bool) *AGUILane {
	for i := len(m.Lanes) - 1; i >= 0; i-- {
		if match(&m.Lanes[i]) {
			return &m.Lanes[i]
		}
	}
	return nil
}

// busy tells whether something of a message is open.
func (m *Decoder) busy(ns, message string) bool {
	return m.find(func(l *AGUILane) bool {
		return l.Namespace == ns && l.Message == message && (l.Kind == callLane || l.Kind == textLane || l.Kind == reasoningLane)
	}) != nil
}

// place gives the place of a namespace. It holds until the next call.
func (m *Decoder) place(ns string) *AGUIPlace {
	ns = ns[:min(len(ns), wire.MaxID)]
	for i := range m.Places {
		if m.Places[i].Namespace == ns {
			return &m.Places[i]
		}
	}
	m.Places = append(wire.MakeRoom(m.Places, keptPlaces), AGUIPlace{Namespace: wire.Keep(ns)})
	return &m.Places[len(m.Places)-1]
}

// leave forgets a namespace that is over.
func (m *Decoder) leave(ns string) {
	m.Lanes = slices.DeleteFunc(m.Lanes, func(l AGUILane) bool { return l.Namespace == ns })
	m.Places = slices.DeleteFunc(m.Places, func(p AGUIPlace) bool { return p.Namespace == ns })
}

// ask remembers a call that a person was asked about.
func (m *Decoder) ask(id string) {
	if id != "" && !m.asked(id) {
		m.Waiting = append(wire.MakeRoom(m.Waiting, keptWaiting), wire.Keep(id))
	}
}

func (m *Decoder) asked(id string) bool {
	return id != "" && slices.Contains(m.Waiting, id[:min(len(id), wire.MaxID)])
}

// answered forgets a call that a person was asked about.
func (m *Decoder) answered(id string) {
	m.Waiting = slices.DeleteFunc(m.Waiting, func(w string) bool { return w == id })
}
