package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

func (st *Step) message(c *chunks.Chunk) *Message {
	switch m := st.current(c).unlessBeside(c); {
	case m == nil:
	case m.Next && m.ID == "" && c.Kind != chunks.Start:
		st.finishMessages(func(old *Message) bool { return old == m })
	case m.Wait == 0 || st.goOn(m):
		return m
	}
	s := st.State
	if s.Memory.muted(c.Namespace, c.Message, s.Time) {
		return nil
	}
	if m := st.continued(c); m != nil {
		return m
	}
	if st.restOfMuted(c) {
		return nil
	}
	return st.openMessage(c)
}

func (st *Step) openMessage(c *chunks.Chunk) *Message {
	s := st.State
	resumed := st.resumes(c)
	if resumed && c.Kind == chunks.Fragment && st.leftover(nil, c) {
		return nil
	}
	if len(s.Messages) >= st.Rules.MaxOpen && !st.makeRoom() {
		st.Reject(events.OverLimit, 0, fmt.Sprintf("more than %d messages are open", st.Rules.MaxOpen))
		return nil
	}
	st.finishMessages(func(m *Message) bool {
		return m.Phase == Finishing && m.Namespace == c.Namespace && (m.ID != c.Message || m.Choice == c.Choice) ||
			siblings(m.Namespace, c.Namespace) && m.over()
	})
	if s.Run == nil {
		st.startRun("")
	}
	s.Run.rests(false)
	m := &Message{
		Namespace: clone(c.Namespace), ID: clone(c.Message), Choice: c.Choice,
		Role: cmp.Or(clone(c.Role), "assistant"), Run: s.Run.ID, Shape: st.Shape,
		Nested: c.Repeated && c.Namespace != "", // the namespace of a repetition has no node
		Varies: c.IDVaries, Resumed: resumed,
	}
	if parts := s.Memory.rejoin(c); resumed {
		m.Parts = parts
	}
	s.Messages, s.Turn = append(s.Messages, m), UnderWay
	s.Run.Failed, s.Run.Detail = false, ""
	s.Memory.addMessage(m.ID, st.Rules.MaxClosed)
	if c.IDVaries {
		st.overtake(m)
	}
	if m.Quiet = c.IDVaries && c.Kind == chunks.Start; !m.Quiet {
		st.emitStarted(m)
	}
	return m
}

func (st *Step) emitStarted(m *Message) {
	m.Quiet = false
	e := st.emitMessage(events.MessageStarted, m)
	e.Role = m.Role
}

// answered reports whether the message made calls, and all of them are closed. A client
// runs its tools after the model has finished the message.
func (m *Message) answered() bool { return len(m.Calls) > 0 && m.open() == 0 }

func (m *Message) over() bool {
	return m.answered() && (m.Phase == Finishing || m.Phase == Building && !m.any(func(c *Call) bool { return c.Provider }))
}

// goOn continues a message whose finish reason was not its end. It reports false
// where the content belongs to the next message: a message without an id is over
// when its calls have their results.
func (st *Step) goOn(m *Message) bool {
	if m.ID == "" && m.hasClientCall() && m.open() == 0 {
		return false
	}
	m.resumed()
	return true
}

// makeRoom finishes the oldest message that has no open call, because some
// providers never end their messages. It reports false where there is none.
func (st *Step) makeRoom() bool {
	for _, m := range st.State.Messages {
		if m.open() == 0 {
			st.finishMessage(m, true)
			st.dropFinished()
			return true
		}
	}
	return false
}

func (st *Step) current(c *chunks.Chunk) *Message {
	for _, m := range slices.Backward(st.State.Messages) {
		if m.has(c.Message) && m.Choice == c.Choice && m.Namespace == c.Namespace && m.Phase != Finished {
			return m
		}
	}
	return nil
}

func (m *Message) has(id string) bool {
	return m.ID == id || m.Alias == id && id != ""
}

// start applies the certain beginning of a message. After a finish reason it is
// another message, even under the same id. A fresh one supersedes the unfinished
// messages of its namespace.
func (st *Step) start(c *chunks.Chunk) {
	mem := &st.State.Memory
	if c.Fresh || c.Message == "" {
		mem.unmute(c.Namespace, c.Message)
	}
	if c.IDVaries {
		if st.repeatsRole(c) {
			return
		}
		mem.unmute(c.Namespace, "")
	}
	m := st.current(c)
	if c.Fresh {
		st.supersede(func(old *Message) bool {
			return old.Namespace == c.Namespace && old.Phase == Building && (old.ID != c.Message || old.Choice == c.Choice)
		})
	}
	if m != nil && (c.Fresh || m.Phase == Finishing) {
		st.finishMessages(func(old *Message) bool { return old == m })
	}
	st.message(c)
}

// finish applies the finish reason. It completes the calls whose args are whole.
// The others may still get the rest of their args until the message is finished,
// or all of them, because some servers send the reason in each chunk.
func (st *Step) finish(c *chunks.Chunk) {
	m := st.current(c)
	if m == nil {
		m = st.finishedBy(c)
	}
	if m == nil {
		if c.Message == "" || c.IDVaries {
			st.State.Memory.unmute(c.Namespace, "")
		}
		return
	}
	if m.Phase == Building || m.Wait != 0 {
		m.finishing(clone(c.Reason), c.Truncated, c.Wait)
	}
	if c.Abandons {
		st.closeCalls(func(other *Message) bool { return other == m }, true, events.ByCut, "")
	}
	for i := range m.Calls {
		switch call := &m.Calls[i]; {
		case call.Certain() || !m.Truncated && call.Usable() && !call.Blank():
			st.completeArgs(m, call, "message")
		case !m.Truncated && call.State.Status == events.BuildingArgs:
			call.State.restate(c.Restated)
		}
	}
	if c.IDVaries {
		st.supersedeOvertaken(m)
	}
}

// finishedBy returns the message that a finish under another id means, or nil:
// the only one that is building in the namespace. Some servers send the last
// chunk, which has only the reason, under an id of its own.
func (st *Step) finishedBy(c *chunks.Chunk) *Message {
	if st.State.Memory.hasMessage(c.Message) {
		return nil
	}
	if c.IDVaries {
		return st.newest(c, Building)
	}
	return st.onlyBuilding(c, func(*Message) bool { return true })
}

// usage applies the token counts. Programs in Go write counts of 0 in each chunk, before
// those of the message come.
func (st *Step) usage(c *chunks.Chunk) {
	if strings.Contains(c.Usage, "0") && !strings.ContainsAny(c.Usage, "123456789") {
		return
	}
	unknown := c.Message == "" || !st.State.Memory.hasMessage(c.Message)
	match := func(m *Message) bool {
		return m.Phase != Finished && m.Namespace == c.Namespace && (m.has(c.Message) || unknown)
	}
	for _, m := range st.State.Messages {
		if match(m) {
			m.Usage = []byte(clone(c.Usage))
		}
	}
	st.finishMessages(func(m *Message) bool { return m.Phase == Finishing && m.Wait == 0 && match(m) })
}

// ended applies the statement that nothing more comes. A message that is named
// is finished even without a finish reason.
func (st *Step) ended(c *chunks.Chunk) {
	st.finishMessages(func(m *Message) bool {
		if m.Namespace != c.Namespace || c.Message != "" && m.ID != c.Message {
			return false
		}
		return m.Phase == Finishing || m.Phase == Building && c.Message != ""
	})
}

// done applies the end of the stream. A message without a finish reason ends too.
// The args of its calls stay incomplete, because the model may have been cut off.
func (st *Step) done() {
	for _, m := range slices.Clone(st.State.Messages) {
		switch m.Phase {
		case Building:
			m.runEnded()
			st.endMessage(m, false)
		case Finishing:
			st.finishMessage(m, false)
		}
	}
	st.dropFinished()
	st.endFailed()
}

func (st *Step) finishMessages(match func(*Message) bool) {
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase != Finished && match(m) {
			st.finishMessage(m, false)
		}
	}
	st.dropFinished()
}

func (st *Step) supersede(match func(*Message) bool) {
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase == Finished || !match(m) {
			continue
		}
		st.closeCalls(func(other *Message) bool { return other == m }, true, events.BySuperseded, "")
		st.finishMessage(m, true)
	}
	st.dropFinished()
}

func (st *Step) finishMessage(m *Message, superseded bool) {
	for i := range m.Calls {
		c := &m.Calls[i]
		if c.State.Status != events.BuildingArgs {
			continue
		}
		st.emitStart(m, c, true)
		switch {
		case c.State.Restated != chunks.NotRestated:
		case !m.Truncated || c.Certain():
			st.completeArgs(m, c, "message")
		case c.State.Result != nil:
			st.answerCut(m, c, "message")
		case m.Reason != "":
			st.close(m, c, events.Cancelled, events.ByCut, "")
		} // else the args never become complete, and the deadline closes the call
	}
	st.endMessage(m, superseded)
}

// answerCut ends a call that has a result and whose args may be cut off. Args that the
// model perhaps did not mean, such as none, are not emitted as complete.
func (st *Step) answerCut(m *Message, c *Call, by string) {
	if c.Usable() && !c.Certain() {
		st.complete(m, c, *c.State.Result)
		return
	}
	st.completeArgs(m, c, by)
}

// endMessage is the transition of a message to Finished, the only one. Nothing of its
// calls is held any longer, even if their args stay incomplete.
func (st *Step) endMessage(m *Message, superseded bool) {
	for i := range m.Calls {
		if c := &m.Calls[i]; c.State.Status == events.BuildingArgs {
			st.emitStart(m, c, true)
			st.emitArgs(m, c, true)
		}
	}
	st.endPart(m)
	m.finished(superseded)
	st.State.Memory.Ended = true
	if m.Alias != "" {
		st.State.Memory.addMessage(m.Alias, st.Rules.MaxClosed)
	}
	e := st.emitMessage(events.MessageFinished, m)
	e.Role, e.FinishReason, e.Usage, e.Superseded = m.Role, m.Reason, m.Usage, superseded
}

func (st *Step) rename(c *chunks.Chunk) {
	mem := &st.State.Memory
	if mem.muted(c.Namespace, c.ID, st.State.Time) {
		mem.mute(clone(c.Namespace), clone(c.Message), st.State.Time)
	}
	for _, m := range st.State.Messages {
		if m.ID == c.ID && m.Namespace == c.Namespace && m.Phase != Finished {
			m.ID, m.place = clone(c.Message), nil
			mem.addMessage(m.ID, st.Rules.MaxClosed)
		}
	}
}
