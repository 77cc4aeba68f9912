package decode

import "slices"

// AGUIMemory is what the ag-ui format remembers between events.
type AGUIMemory struct {
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

func (m AGUIMemory) clone() AGUIMemory {
	m.Lanes, m.Places, m.Waiting = slices.Clone(m.Lanes), slices.Clone(m.Places), slices.Clone(m.Waiting)
	return m
}

// room makes room for one more.
func room[T any](list []T, limit int) []T {
	if len(list) < limit {
		return list
	}
	return slices.Delete(list, 0, len(list)-limit+1)
}

// open adds a lane. It holds until the next one opens or closes.
func (m *AGUIMemory) open(l AGUILane) *AGUILane {
	l.Namespace, l.ID, l.Message = keep(l.Namespace, keptID), keep(l.ID, keptID), keep(l.Message, keptID)
	m.Lanes = append(room(m.Lanes, keptLanes), l)
	return &m.Lanes[len(m.Lanes)-1]
}

func (m *AGUIMemory) close(l *AGUILane) {
	for i := range m.Lanes {
		if &m.Lanes[i] == l {
			m.Lanes = slices.Delete(m.Lanes, i, i+1)
			return
		}
	}
}

// callLane gives the lane of a call; without an id, the one that came in
// chunks last.
func (m *AGUIMemory) callLane(ns, id string) *AGUILane {
	return m.find(func(l *AGUILane) bool {
		return l.Kind.ofCall() && (id == "" && l.Chunk && l.Namespace == ns || id != "" && sameID(l.ID, id))
	})
}

// lane gives the lane of a text or reasoning; without an id, the latest of its
// kind in the namespace.
func (m *AGUIMemory) lane(kind laneKind, ns, id string) *AGUILane {
	return m.find(func(l *AGUILane) bool {
		ours := l.Kind == kind || kind == textLane && l.Kind == mutedLane
		return ours && l.Namespace == ns && sameID(l.ID, id)
	})
}

// find gives the newest lane that matches, or nil.
func (m *AGUIMemory) find(match func(*AGUILane) bool) *AGUILane {
	for i := len(m.Lanes) - 1; i >= 0; i-- {
		if match(&m.Lanes[i]) {
			return &m.Lanes[i]
		}
	}
	return nil
}

// busy tells whether something of a message is open.
func (m *AGUIMemory) busy(ns, message string) bool {
	return m.find(func(l *AGUILane) bool {
		return l.Namespace == ns && l.Message == message && (l.Kind == callLane || l.Kind == textLane || l.Kind == reasoningLane)
	}) != nil
}

// place gives the place of a namespace. It holds until the next call.
func (m *AGUIMemory) place(ns string) *AGUIPlace {
	ns = ns[:min(len(ns), keptID)]
	for i := range m.Places {
		if m.Places[i].Namespace == ns {
			return &m.Places[i]
		}
	}
	m.Places = append(room(m.Places, keptPlaces), AGUIPlace{Namespace: keep(ns, keptID)})
	return &m.Places[len(m.Places)-1]
}

// leave forgets a namespace that is over.
func (m *AGUIMemory) leave(ns string) {
	m.Lanes = slices.DeleteFunc(m.Lanes, func(l AGUILane) bool { return l.Namespace == ns })
	m.Places = slices.DeleteFunc(m.Places, func(p AGUIPlace) bool { return p.Namespace == ns })
}

// ask remembers a call that a person was asked about.
func (m *AGUIMemory) ask(id string) {
	if id != "" && !m.asked(id) {
		m.Waiting = append(room(m.Waiting, keptWaiting), keep(id, keptID))
	}
}

func (m *AGUIMemory) asked(id string) bool {
	return id != "" && slices.Contains(m.Waiting, id[:min(len(id), keptID)])
}

// answered forgets a call that a person was asked about.
func (m *AGUIMemory) answered(id string) {
	m.Waiting = slices.DeleteFunc(m.Waiting, func(w string) bool { return w == id })
}
