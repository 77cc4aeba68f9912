package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// message gives the message a chunk belongs to, opening it if need be; nil if
// nothing of it is taken any more.
func (st *Step) message(c *chunks.Chunk) *Message {
	if m := st.current(c); m != nil {
		return m
	}
	s := st.State
	if s.Memory.muted(c.Namespace, c.Message, s.Time) {
		return nil
	}
	if len(s.Messages) >= st.Rules.MaxOpen && !st.makeRoom() {
		st.Reject(events.OverLimit, 0, fmt.Sprintf("more than %d messages are open", st.Rules.MaxOpen))
		return nil
	}
	st.finalise(func(m *Message) bool {
		return m.Phase == Finishing && m.Namespace == c.Namespace && (m.ID != c.Message || m.Choice == c.Choice)
	})
	if s.Run == nil {
		st.runStart("")
	}
	m := &Message{
		Namespace: clone(c.Namespace), ID: clone(c.Message), Choice: c.Choice,
		Role: clone(c.Role), Run: s.Run.ID, Shape: st.Shape,
	}
	if m.Role == "" {
		m.Role = "assistant"
	}
	s.Messages = append(s.Messages, m)
	s.Memory.seeMessage(m.ID, st.Rules.MaxClosed)
	e := st.emitMessage(events.MessageStarted, m)
	e.Role = m.Role
	return m
}

// makeRoom ends the oldest message that has no open call: some providers never
// say that a message is over. False if there is none.
func (st *Step) makeRoom() bool {
	for _, m := range st.State.Messages {
		if m.open() == 0 {
			st.over(m, true)
			st.sweep()
			return true
		}
	}
	return false
}

// current gives the newest message that a chunk's names mean and that is not
// over, or nil.
func (st *Step) current(c *chunks.Chunk) *Message {
	for _, m := range slices.Backward(st.State.Messages) {
		if m.ID == c.Message && m.Choice == c.Choice && m.Namespace == c.Namespace && m.Phase != Finished {
			return m
		}
	}
	return nil
}

// start takes the sure sign of a message's beginning. After a finish reason
// it is another message, even under the same id; a fresh one abandons what
// its namespace had not finished.
func (st *Step) start(c *chunks.Chunk) {
	mem := &st.State.Memory
	if c.Fresh || c.Message == "" {
		mem.unmute(c.Namespace, c.Message)
	}
	m := st.current(c)
	if c.Fresh {
		st.abandon(func(old *Message) bool {
			return old.Namespace == c.Namespace && old.Phase == Building && (old.ID != c.Message || old.Choice == c.Choice)
		})
	}
	if m != nil && (c.Fresh || m.Phase == Finishing) {
		st.finalise(func(old *Message) bool { return old == m })
	}
	st.message(c)
}

// fragment takes a piece of a call.
func (st *Step) fragment(c *chunks.Chunk) {
	if c.Whole && st.confirm(c) {
		return
	}
	m := st.current(c)
	if m != nil && m.Phase == Finishing && opens(m, c) {
		// The finish reason closed the index space: this is the next message
		// of a gateway that never changes its id.
		st.finalise(func(old *Message) bool { return old == m })
		m = nil
	}
	if m == nil {
		m = st.goesOn(c)
	}
	if m == nil {
		if m = st.message(c); m == nil {
			return
		}
	}
	st.add(m, c)
}

// goesOn finds the message that a bare fragment under an id never seen means:
// some servers give each chunk an id of its own, or leave it out of all but the
// first. It is the only one that is building a call in the namespace.
func (st *Step) goesOn(c *chunks.Chunk) (found *Message) {
	s := st.State
	if c.ID != "" || c.Name != "" || c.Whole || c.Opens || s.Memory.sawMessage(c.Message) || s.Memory.muted(c.Namespace, c.Message, s.Time) {
		return nil
	}
	for _, m := range s.Messages {
		if m.Phase != Building || m.Namespace != c.Namespace || m.Choice != c.Choice || !m.building() {
			continue
		}
		if found != nil {
			return nil
		}
		found = m
	}
	return found
}

// building reports whether some args are on their way, of a call that was closed
// in the middle of them too.
func (m *Message) building() bool {
	for i, c := range m.Calls {
		said := &m.Asm.Calls[i]
		if said.Closed == chunks.ClosedShort || c.Status == events.BuildingArgs && !said.Whole() {
			return true
		}
	}
	return false
}

// opens tells whether a fragment can only begin a call, and one that the
// message does not have.
func opens(m *Message, c *chunks.Chunk) bool {
	return !c.Whole && c.ID != "" && m.Asm.ByID(c.ID) < 0 && (c.Name != "" || m.Asm.ByIndex(c.Index) < 0) ||
		c.ID == "" && c.Name != "" && len(m.Calls) > 0 && m.open() == 0
}

func (st *Step) add(m *Message, c *chunks.Chunk) {
	pos, opened, err := m.Asm.Add(c, st.Rules.limits())
	if err != nil {
		st.refuse(m, pos, c, err)
		return
	}
	if opened {
		if st.State.Open() >= st.Rules.MaxOpen {
			m.Asm.Drop()
			st.Reject(events.OverLimit, 0, fmt.Sprintf("more than %d calls are open", st.Rules.MaxOpen))
			return
		}
		now := st.State.Time
		m.Calls = append(m.Calls, &Call{
			Call: st.name(), Status: events.BuildingArgs, Begun: now, Expires: now + events.Time(st.Rules.Expire),
		})
		st.settle(m, pos)
	}
	call := m.Calls[pos]
	if call.Status.Terminal() {
		return
	}
	st.resumeAt(m, pos)
	if call.Status == events.BuildingArgs {
		st.arm(m, pos)
	}
	st.tellStart(m, pos, false)
	st.tellArgs(m, pos, false)
	if c.Whole {
		st.complete(m, pos, closer(c))
	}
}

// lose takes a fragment that is refused out of hand: what goes on with it must
// not be taken for another call.
func (st *Step) lose(c *chunks.Chunk) {
	if c.Kind != chunks.Fragment || c.Whole || len(c.Message) > st.Rules.MaxName {
		return
	}
	if m := st.message(c); m != nil {
		m.Asm.Refuse(c)
	}
}

// closer tells what closes a call that comes whole: itself, where the format
// gives its calls one by one, else the full message that it stands in.
func closer(c *chunks.Chunk) string {
	if c.Final {
		return "call"
	}
	return "message"
}

// refuse tells, once per call, that a fragment was not taken.
func (st *Step) refuse(m *Message, pos int, c *chunks.Chunk, err error) {
	code := events.OverLimit
	if errors.Is(err, chunks.ErrEnd) {
		code = events.BadShape
	}
	what := fmt.Sprintf("%v: message %q, index %s", err, m.ID, c.Index)
	if errors.Is(err, chunks.ErrClosed) {
		code, what = events.CallClosed, m.closedText(pos)
	}
	if pos >= 0 {
		if call := m.Calls[pos]; !call.Over {
			call.Over = true
			st.Reject(code, 0, what)
		}
		return
	}
	st.Reject(code, 0, what)
}

// closedText says of which call args came after it was closed.
func (m *Message) closedText(pos int) string {
	c, said := m.Calls[pos], &m.Asm.Calls[pos]
	return fmt.Sprintf("args came for call %s (id %q, tool %q) after it was closed; they are not used", c.Call, c.ID, said.Name)
}

// settle makes the calls before and beside pos final: the model goes on with
// something else, so their names are whole.
func (st *Step) settle(m *Message, pos int) {
	for i := range m.Calls {
		if i != pos && !m.Calls[i].Started && !m.Calls[i].Status.Terminal() && m.Asm.Calls[i].ID != "" {
			st.tellStart(m, i, true)
		}
	}
}

// sealed takes the provider's word that a call has all its args. Where they
// are no JSON the finish reason has to say first whether the model was cut
// off: providers end the block all the same.
func (st *Step) sealed(c *chunks.Chunk) {
	m := st.current(c)
	if m == nil {
		return
	}
	pos := -1
	switch {
	case c.ID != "":
		pos = m.Asm.ByID(c.ID)
	case c.Index != "":
		pos = m.Asm.ByIndex(c.Index)
	case len(m.Calls) > 0:
		pos = m.Asm.Latest
	}
	if pos >= 0 && m.Asm.Calls[pos].Usable() {
		st.complete(m, pos, "call")
	}
}

// next takes the beginning of another block where blocks follow each other.
func (st *Step) next(c *chunks.Chunk) {
	m := st.current(c)
	if m == nil {
		return
	}
	for i := range m.Calls {
		said := &m.Asm.Calls[i]
		if said.Index != c.Index && !said.Placeholder() && said.Whole() {
			st.complete(m, i, "next")
		}
	}
}

// finish takes the finish reason. Calls whose args are whole are complete;
// others may still get the rest of them until the message is over, or all of
// them, since some servers give the reason in each chunk.
func (st *Step) finish(c *chunks.Chunk) {
	m := st.current(c)
	if m == nil {
		if id, ok := st.pendingFinish(c); ok {
			m = id
		} else {
			if c.Message == "" {
				st.State.Memory.unmute(c.Namespace, "")
			}
			return
		}
	}
	if m.Phase == Building {
		m.Phase = Finishing
		m.Reason = clone(c.Reason)
		m.Truncated = c.Truncated
	}
	for i := range m.Calls {
		if said := &m.Asm.Calls[i]; said.Whole() || !m.Truncated && said.Usable() && !said.Blank() {
			st.complete(m, i, "message")
		}
	}
}

// pendingFinish finds the message that a finish under another id means: some
// layers send the last chunk, with nothing but the reason, under an id of its
// own. It is the only one that is building in the namespace.
func (st *Step) pendingFinish(c *chunks.Chunk) (*Message, bool) {
	var found *Message
	for _, m := range st.State.Messages {
		if m.Phase == Building && m.Namespace == c.Namespace && m.Choice == c.Choice {
			if found != nil {
				return nil, false
			}
			found = m
		}
	}
	return found, found != nil && !st.State.Memory.sawMessage(c.Message)
}

// usage takes the token counts, which come after the finish reason or in
// passing.
func (st *Step) usage(c *chunks.Chunk) {
	anyone := c.Message == "" || !st.State.Memory.sawMessage(c.Message)
	mine := func(m *Message) bool {
		return m.Phase != Finished && m.Namespace == c.Namespace && (m.ID == c.Message || anyone)
	}
	for _, m := range st.State.Messages {
		if mine(m) {
			m.Usage = []byte(clone(c.Usage))
		}
	}
	st.finalise(func(m *Message) bool { return m.Phase == Finishing && mine(m) })
}

// done takes the word that nothing more comes. A message that had no finish
// reason is over all the same when its own end is told.
func (st *Step) done(c *chunks.Chunk) {
	st.finalise(func(m *Message) bool {
		if m.Namespace != c.Namespace || c.Message != "" && m.ID != c.Message {
			return false
		}
		return m.Phase == Finishing || m.Phase == Building && c.Message != ""
	})
}

// finalise ends the messages that match: what their calls still lack never
// comes.
func (st *Step) finalise(match func(*Message) bool) {
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase != Finished && match(m) {
			st.over(m, false)
		}
	}
	st.sweep()
}

// abandon ends the messages that match as superseded: the calls that were
// being built are cancelled.
func (st *Step) abandon(match func(*Message) bool) {
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase == Finished || !match(m) {
			continue
		}
		for i, c := range m.Calls {
			if c.Status == events.BuildingArgs {
				st.close(m, i, events.Cancelled, events.BySuperseded, "")
			}
		}
		st.over(m, true)
	}
	st.sweep()
}

// over tells that a message is finished.
func (st *Step) over(m *Message, superseded bool) {
	for i, c := range m.Calls {
		if c.Status != events.BuildingArgs {
			continue
		}
		if m.Truncated && !m.Asm.Calls[i].Whole() && c.Result == nil {
			continue // the model was cut off: these args never become complete
		}
		st.complete(m, i, "message")
	}
	st.endPart(m)
	m.Phase = Finished
	for i, c := range m.Calls {
		if c.Status != events.BuildingArgs {
			m.Asm.Calls[i].Text = nil // it is in the log
		}
	}
	e := st.emitMessage(events.MessageFinished, m)
	e.Role, e.FinishReason, e.Usage, e.Superseded = m.Role, m.Reason, m.Usage, superseded
	m.Superseded = superseded
}

// rename gives open messages another id.
func (st *Step) rename(c *chunks.Chunk) {
	mem := &st.State.Memory
	if mem.muted(c.Namespace, c.ID, st.State.Time) {
		mem.mute(clone(c.Namespace), clone(c.Message), st.State.Time)
	}
	for _, m := range st.State.Messages {
		if m.ID == c.ID && m.Namespace == c.Namespace && m.Phase != Finished {
			m.ID, m.place = clone(c.Message), nil
			mem.seeMessage(m.ID, st.Rules.MaxClosed)
		}
	}
}

// root tells whether the message is of the outermost agent: LangGraph gives
// each of its nodes a namespace of one segment.
func (m *Message) root() bool { return !strings.Contains(m.Namespace, "|") }

// asked tells whether the message made a call for somebody else to run.
func (m *Message) asked() bool {
	for i := range m.Asm.Calls {
		if !m.Asm.Calls[i].Provider {
			return true
		}
	}
	return false
}

// sweep drops the messages that are over and whose calls are.
func (st *Step) sweep() {
	s := st.State
	s.Messages = slices.DeleteFunc(s.Messages, func(m *Message) bool {
		if m.Phase != Finished || m.open() > 0 {
			return false
		}
		st.left(m)
		return true
	})
}

// left takes notice of a message that is dropped: whether the run may end with
// it. While one choice asked for calls, it does not end with the others.
func (st *Step) left(m *Message) {
	run := st.State.Run
	switch {
	case !m.root() || m.Superseded:
	case m.asked():
		if run != nil && run.ID == m.Run {
			run.Asked = &Answer{m.Namespace, m.ID, m.Choice}
		}
		if st.rooted != nil && run != nil && run.Asked.beside(st.rooted) {
			st.rooted = nil
		}
	case run == nil || !run.Asked.beside(m):
		st.rooted = m
	}
}

// beside tells whether a is another choice of the message m.
func (a *Answer) beside(m *Message) bool {
	return a != nil && a.Message == m.ID && a.Namespace == m.Namespace && a.Choice != m.Choice
}
