package langchain

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
)

// messages is what the langchain format remembers between events. Its
// slices are never written to once they are set, so that copies may share them.
type messages struct {
	Run     string `json:"r,omitzero"`
	Attempt int    `json:"a,omitzero"` // of Run
	// Streamed are the messages streamed last, the latest at the end.
	Streamed []langStreamed `json:"s,omitzero"`
	// Partial are the messages that the server sends whole again and again.
	Partial []langPartialText `json:"p,omitzero"`
}

// langStreamed is a message that is or was streamed.
type langStreamed struct {
	ID        string `json:"i"`
	Namespace string `json:"n,omitzero"`
	// Also is another id that the same message goes on under.
	Also  string `json:"o,omitzero"`
	Said  bool   `json:"d,omitzero"` // it had content or calls
	Calls bool   `json:"c,omitzero"`
	Done  bool   `json:"e,omitzero"` // and it ended since
	Usage string `json:"u,omitzero"` // raw, so far
}

const keptStreamed = 64

// langSaid sums up what a piece of a message says.
type langSaid struct {
	text  bool
	calls bool // there are pieces of calls
	opens bool // one of which has an id or a name
	ends  bool
}

// stream notes that a piece of a message came, and gives the id the message
// goes by: the first one it said something under, or the provider's where a
// call goes on under that; was is then what it was called before.
//
// A framework that knows no better gives a message an id of its own, and goes
// on under the provider's once that has come: langchain_core from the second
// piece on, @langchain/openai with the last piece alone (Responses), others
// with a new one for each. Such a piece is known by not beginning anything: it
// goes on with a call, or only ends, under an id under which nothing was said
// yet, while just one message of its namespace with a made-up id is open.
func (m *messages) stream(ns, id string, said langSaid) (name, was string) {
	if id == "" || len(id) > wire.MaxID || len(ns) > 4*wire.MaxID {
		return id, ""
	}
	i := m.index(ns, id)
	if i < 0 || m.Streamed[i].ID == id && !m.Streamed[i].Said {
		if j := m.continued(ns, id, said); j >= 0 {
			s := m.Streamed[j]
			s.Also, s.Done = strings.Clone(id), s.Done || said.ends
			if said.calls && !madeUp(id) {
				was, s.ID, s.Also = s.ID, s.Also, s.ID
			}
			m.set(j, s)
			return s.ID, was
		}
	}
	if i < 0 {
		m.add(langStreamed{ID: strings.Clone(id), Namespace: strings.Clone(ns), Said: said.text || said.calls, Calls: said.calls, Done: said.ends})
		return id, ""
	}
	says := said.text || said.calls
	if s := &m.Streamed[i]; (!says || s.Said && !s.Done) && (s.Calls || !said.calls) && (s.Done || !said.ends) {
		return s.ID, "" // nothing new, as mostly
	}
	s := m.Streamed[i]
	if says {
		if s.Done { // another message under the same id
			s.Usage = ""
		}
		s.Said, s.Done = true, false
	}
	s.Calls = s.Calls || said.calls
	s.Done = s.Done || said.ends
	m.set(i, s)
	return s.ID, ""
}

// continued gives the place of the message that a piece under a new id goes on
// with, or -1.
func (m *messages) continued(ns, id string, said langSaid) int {
	goesOn := said.calls && !said.opens
	onlyEnds := said.ends && !said.text && !said.calls
	if !goesOn && !onlyEnds {
		return -1
	}
	found := -1
	for i, s := range m.Streamed {
		if s.Namespace != ns || s.ID == id || s.Done || !s.Said || goesOn && !s.Calls || !madeUp(s.ID) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// madeUp tells the ids that LangChain gives messages from those of providers.
func madeUp(id string) bool {
	return strings.HasPrefix(id, "run-") || strings.HasPrefix(id, "lc_") || len(id) == 36 && strings.Count(id, "-") == 4
}

// index gives the place of a message in its namespace, or -1. One that goes on
// under the id comes before one that said nothing under it.
func (m *messages) index(ns, id string) int {
	found := -1
	for i := len(m.Streamed) - 1; i >= 0; i-- {
		s := &m.Streamed[i]
		switch {
		case s.Namespace != ns:
		case s.Also == id, s.ID == id && s.Said:
			return i
		case s.ID == id && found < 0:
			found = i
		}
	}
	return found
}

// find gives the namespace and the id that a message was streamed under, if it
// was, in the namespace ns or below it: what a graph says of a message in
// updates and values lacks the node, and repeats what its subgraphs said.
func (m *messages) find(ns, id string) (namespace, first string, ok bool) {
	if id == "" {
		return "", "", false
	}
	for i := len(m.Streamed) - 1; i >= 0; i-- {
		if s := &m.Streamed[i]; (s.ID == id || s.Also == id) && langWithin(s.Namespace, ns) {
			return s.Namespace, s.ID, true
		}
	}
	return "", "", false
}

// done notes that a message is over.
func (m *messages) done(ns, id string) {
	if i := m.index(ns, id); i >= 0 && !m.Streamed[i].Done {
		s := m.Streamed[i]
		s.Done = true
		m.set(i, s)
	}
}

func (m *messages) set(i int, s langStreamed) {
	m.Streamed = slices.Clone(m.Streamed)
	m.Streamed[i] = s
}

// add notes a new message; the oldest is forgotten.
func (m *messages) add(s langStreamed) {
	old := m.Streamed[max(0, len(m.Streamed)-keptStreamed+1):]
	m.Streamed = append(slices.Clip(old), s)
}

// langWithin tells whether a namespace is ns or below it.
func langWithin(namespace, ns string) bool {
	return ns == "" || strings.HasPrefix(namespace, ns) && (len(namespace) == len(ns) || namespace[len(ns)] == '|')
}
