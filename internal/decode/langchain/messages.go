package langchain

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

type messages struct {
	Run     string
	Attempt int32 // of Run
	// Live states that messages are streamed. Otherwise updates and values are the
	// only source of messages.
	Live   bool
	pieces bool // within a frame: its AIMessageChunks may not be whole yet
	// Streamed are the messages streamed last, the latest at the end.
	Streamed []streamedMessage
	// Partial are the growing messages, which the server repeats whole.
	Partial []partialText
}

func (m *messages) fields(f *stored.Fields) {
	f.Text("r", &m.Run)
	stored.Number(f, "a", &m.Attempt)
	f.Flag("v", &m.Live)
	stored.List(f, "s", &m.Streamed, (*streamedMessage).fields)
	stored.List(f, "p", &m.Partial, (*partialText).fields)
}

type streamedMessage struct {
	ID        string
	Namespace string
	// Also is another id under which the message continues.
	Also  string
	Used  bool // it has content or calls
	Calls bool
	Done  bool   // and it has ended since
	Usage string // raw, so far
}

func (s *streamedMessage) fields(f *stored.Fields) {
	f.Text("i", &s.ID)
	f.Text("n", &s.Namespace)
	f.Text("o", &s.Also)
	f.Flag("d", &s.Used)
	f.Flag("c", &s.Calls)
	f.Flag("e", &s.Done)
	f.Text("u", &s.Usage)
}

// text reports whether the message has content, but no calls, and no end yet.
func (s *streamedMessage) text() bool { return s.Used && !s.Calls && !s.Done }

const maxStreamed = 64

// summary is what a piece of a message has. It is the note of a template.
type summary uint8

const (
	hasText summary = 1 << iota
	hasCalls
	opensCall // a piece of a call with an id or a name
	hasEnd
)

func (s summary) has(some summary) bool { return s&some != 0 }

// stream records a piece of a message and returns the id of the message. That is the
// id of the first piece with content, or the id of the provider where a call
// continues under it. In the latter case was is the id before.
//
// A framework that does not have the id of the provider yet generates an id for the
// message. Later pieces have the id of the provider: from the second piece on in
// langchain_core, in the last piece alone in @langchain/openai (Responses). In other
// frameworks each piece has a new id. A piece continues such a message if it begins
// nothing: it continues a call, or only ends the message, under an id without
// content, while exactly one message of its namespace with a generated id is open.
func (m *messages) stream(ns, id string, piece summary) (name, was string) {
	if id == "" || len(id) > wire.MaxID || len(ns) > 4*wire.MaxID {
		return id, ""
	}
	i := m.index(ns, id)
	if i < 0 || m.Streamed[i].ID == id && !m.Streamed[i].Used {
		if j := m.continued(ns, id, piece); j >= 0 {
			s := &m.Streamed[j]
			s.Also, s.Done = strings.Clone(id), s.Done || piece.has(hasEnd)
			if piece.has(hasCalls) && !generated(id) {
				was, s.ID, s.Also = s.ID, s.Also, s.ID
			}
			return s.ID, was
		}
	}
	used := piece.has(hasText | hasCalls)
	if i < 0 {
		m.Streamed = append(wire.MakeRoom(m.Streamed, maxStreamed), streamedMessage{
			ID: strings.Clone(id), Namespace: strings.Clone(ns), Used: used, Calls: piece.has(hasCalls), Done: piece.has(hasEnd),
		})
		return id, ""
	}
	s := &m.Streamed[i]
	if used {
		if s.Done { // another message under the same id
			s.Usage = ""
		}
		s.Used, s.Done = true, false
	}
	s.Calls = s.Calls || piece.has(hasCalls)
	s.Done = s.Done || piece.has(hasEnd)
	return s.ID, ""
}

// continued returns the index of the message that a piece under a new id continues,
// or -1.
func (m *messages) continued(ns, id string, piece summary) int {
	continues := piece.has(hasCalls) && !piece.has(opensCall)
	if !continues && piece != hasEnd {
		return -1
	}
	found := -1
	for i, s := range m.Streamed {
		if s.Namespace != ns || s.ID == id || s.Done || !s.Used || continues && !s.Calls || !generated(s.ID) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// generated reports whether LangChain, not the provider, generated an id.
func generated(id string) bool {
	return strings.HasPrefix(id, "run-") || strings.HasPrefix(id, "lc_") || len(id) == 36 && strings.Count(id, "-") == 4
}

// index returns the index of a message in its namespace, or -1. A message that
// continues under the id precedes a message with the id that has no content.
func (m *messages) index(ns, id string) int {
	found := -1
	for i := len(m.Streamed) - 1; i >= 0; i-- {
		s := &m.Streamed[i]
		switch {
		case s.Namespace != ns:
		case s.Also == id, s.ID == id && s.Used:
			return i
		case s.ID == id && found < 0:
			found = i
		}
	}
	return found
}

// find returns the namespace and the id under which a message was streamed in the
// namespace ns or below it. In updates and values the namespace lacks the node, and
// a graph repeats the messages of its subgraphs. Where several subgraphs have a
// message with that id, the message that has ended is meant.
func (m *messages) find(ns, id string) (namespace, first string, ok bool) {
	if id == "" {
		return "", "", false
	}
	found := -1
	for i := len(m.Streamed) - 1; i >= 0; i-- {
		s := &m.Streamed[i]
		if s.ID != id && s.Also != id || !within(s.Namespace, ns) {
			continue
		}
		if found < 0 || s.Done && !m.Streamed[found].Done {
			found = i
		}
	}
	if found < 0 {
		return "", "", false
	}
	return m.Streamed[found].Namespace, m.Streamed[found].ID, true
}

func (m *messages) done(ns, id string) {
	if i := m.index(ns, id); i >= 0 {
		m.Streamed[i].Done = true
	}
}

func within(namespace, ns string) bool {
	return ns == "" || strings.HasPrefix(namespace, ns) && (len(namespace) == len(ns) || namespace[len(ns)] == '|')
}
