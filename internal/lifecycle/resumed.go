package lifecycle

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// A message can come back after it ended: an end input or a silence ends the run in the
// middle of the stream, and the stream goes on. Its former calls are closed, or their
// args are. What is left of them is rejected: it opens no call, message or run, and it
// is never part of another call. In such a message a call begins with its name only.

// resumes reports whether a message that a chunk opens may have begun before, so that
// fragments of its former calls may come.
func (st *Step) resumes(c *chunks.Chunk) bool {
	mem := &st.State.Memory
	switch {
	case c.Fresh:
		return false
	case c.Message != "" && mem.hasMessage(c.Message):
		return !st.otherChoice(c)
	case c.Kind == chunks.Start:
		return mem.Ended && (mem.Roles || st.hasCall(c))
	case c.Message != "" && !c.IDVaries && (c.Kind != chunks.Fragment || c.ID+c.Name != ""):
		return mem.Forgot
	}
	return mem.Ended || mem.Forgot
}

// otherChoice reports whether another choice of the message is open since its beginning,
// so that this one begins.
func (st *Step) otherChoice(c *chunks.Chunk) bool {
	return slices.ContainsFunc(st.State.Messages, func(m *Message) bool {
		return m.Phase != Finished && !m.Resumed && m.Namespace == c.Namespace && m.has(c.Message)
	})
}

// hasCall reports whether the stream event of a role has a piece of a call: some servers
// repeat the role in each event. An id and a name without args are the beginning of one.
func (st *Step) hasCall(c *chunks.Chunk) bool {
	return slices.ContainsFunc(st.rest, func(o chunks.Chunk) bool {
		return o.Kind == chunks.Fragment && o.Choice == c.Choice && !o.Whole && !o.Opens && (o.ID == "" || o.Name == "" || o.Args != "")
	})
}

// leftover reports whether a fragment continues a former call of its message, and
// rejects it. m is the open message, or nil.
func (st *Step) leftover(m *Message, c *chunks.Chunk) bool {
	if c.Whole || c.Name != "" && c.Opens || m != nil && c.ID != "" && m.ByID(c.ID) >= 0 {
		return false
	}
	var old *Closed
	var reported *bool
	if c.ID != "" {
		old, reported = st.former(c, func(id, _ string) bool { return id == c.ID })
	}
	if old == nil && (c.ID == "" || c.Name == "") {
		if m != nil && (!m.Resumed || m.takes(c)) {
			return false
		}
		old, reported = st.former(c, func(_, index string) bool { return c.Index == "" || index == c.Index })
	}
	if c.Name != "" && (old == nil || old.precedes(c)) {
		return false
	}
	if m != nil {
		m.Refused = true // a fragment without an index goes on with this one
	}
	if old == nil {
		st.Reject(events.BadShape, 0, rejectedText(chunks.ErrStray, c.Message, c.Index))
	} else if strings.TrimSpace(c.Args) != "" && !*reported {
		*reported = true
		st.Reject(events.CallClosed, 0, closedText(old.Call, old.ID, old.Name))
	}
	return true
}

// takes reports whether a fragment of no known id belongs to a call of the open message.
func (m *Message) takes(c *chunks.Chunk) bool {
	if c.Index != "" {
		return m.ByIndex(c.Index) >= 0
	}
	return len(m.Calls) > 0 && !m.Refused
}

// precedes reports whether a fragment with a name, on the index or with the id of the
// call, begins another one: it has another name, or the call had all its args, and these
// are not the same ones.
func (old *Closed) precedes(c *chunks.Chunk) bool {
	switch {
	case old.Args == 0:
		return old.Began && c.ID != "" && c.Name != old.Name
	case c.Args == "" && c.Final:
		return c.Index == "" || c.Index != old.Index
	case c.ID == "" && c.Name != old.Name:
		return true
	}
	return strings.HasPrefix(c.Args, "{") && fingerprint([]byte(c.Args)) != old.Args
}

// former returns the newest matching call of the ended message of a fragment, or nil. A
// message under an unknown id is any of the namespace.
func (st *Step) former(c *chunks.Chunk, match func(id, index string) bool) (old *Closed, reported *bool) {
	s := st.State
	unknown := !s.Memory.hasMessage(c.Message) && (c.Message != "" || c.IDVaries)
	for _, m := range slices.Backward(s.Messages) {
		if m.Phase != Finished || m.Namespace != c.Namespace || m.Choice != c.Choice || !unknown && !m.has(c.Message) {
			continue
		}
		for i := range slices.Backward(m.Calls) {
			k := &m.Calls[i]
			if !k.State.Status.Terminal() && match(k.State.ID, k.Index) {
				return &Closed{Call: k.State.Call, ID: k.State.ID, Name: k.Name, Index: k.Index, Args: k.State.Args, Began: len(k.Text) > 0}, &k.State.Reported
			}
		}
	}
	for i := range slices.Backward(s.Memory.Closed) {
		k := &s.Memory.Closed[i]
		if k.Namespace == c.Namespace && k.Choice == c.Choice && (unknown || k.Message == c.Message) && match(k.ID, k.Index) {
			return k, &k.Reported
		}
	}
	return nil, nil
}

// closedText returns the text of the rejected event for args that came after their
// call was closed, or after its message ended.
func closedText(call, id, tool string) string {
	return fmt.Sprintf("args came for call %s (id %q, tool %q) after it was closed; they are not used", call, id, tool)
}

// Left is the content of a message that ended in the middle, so that its text goes on
// where it was if the message comes back.
type Left struct {
	Namespace string
	Message   string
	Choice    int
	Parts     Parts
}

// maxLeft is the number of messages whose content is remembered. A text beyond it
// begins again.
const maxLeft = 16

func (m *Memory) leave(of *Message, p Parts) {
	if p.N == 0 {
		return
	}
	p.Sent += len(p.Held) + len(p.Joiner.End())
	p.Held, p.Ended = nil, true
	m.Left = append(m.Left, Left{of.Namespace, of.ID, of.Choice, p})
	m.Left = m.Left[max(0, len(m.Left)-maxLeft):]
}

// rejoin returns the content of a message that comes back, and forgets it.
func (m *Memory) rejoin(c *chunks.Chunk) (p Parts) {
	m.Left = slices.DeleteFunc(m.Left, func(l Left) bool {
		is := l.Namespace == c.Namespace && l.Message == c.Message && l.Choice == c.Choice
		if is {
			p = l.Parts
		}
		return is
	})
	return p
}
