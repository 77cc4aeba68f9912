package lifecycle

import (
	"errors"
	"fmt"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

func (st *Step) fragment(c *chunks.Chunk) {
	if c.Whole {
		if st.confirm(c) {
			return
		}
		another := *c
		another.Opens = true // an id of the message is the id of another call too
		c = &another
	}
	m := st.current(c).unlessBeside(c)
	if m != nil && m.Wait != 0 {
		m = st.message(c)
	} else if m != nil && m.Phase == Finishing && goesOn(m, c) {
		m.resumed()
	} else if m != nil && m.Phase == Finishing && (opens(m, c) || m.Next && namesNext(m, c)) {
		// The finish reason ended the index space: this is the next message of a
		// gateway that never changes its id.
		st.finishMessages(func(old *Message) bool { return old == m })
		m = nil
	}
	if m == nil && c.Stray() { // it continues a call that never began
		if !st.State.Memory.muted(c.Namespace, c.Message, st.State.Time) {
			st.Reject(events.BadShape, 0, rejectedText(chunks.ErrStray, c.Message, c.Index))
		}
		return
	}
	if m == nil {
		m = st.continuedBy(c)
	}
	if m == nil {
		if m = st.message(c); m == nil {
			return
		}
	}
	if (m.Resumed || c.Name == "" && c.ID != "") && st.leftover(m, c) {
		return
	}
	st.addFragment(m, c)
}

func rejectedText(err error, message, index string) string {
	return fmt.Sprintf("%v: message %q, index %s", err, message, index)
}

// continuedBy returns the message that a bare fragment under an unknown id
// continues, or nil: the only one in the namespace that is building a call. Some
// servers give each chunk an id of its own, or send the id in the first only. For Chat
// Completions, continued does this.
func (st *Step) continuedBy(c *chunks.Chunk) *Message {
	mem := &st.State.Memory
	if c.ID != "" || c.Name != "" || c.Whole || c.Opens || c.IDVaries || mem.hasMessage(c.Message) || mem.muted(c.Namespace, c.Message, st.State.Time) {
		return nil
	}
	found := st.onlyBuilding(c, (*Message).building)
	if found != nil {
		found.Resumed = found.Resumed || mem.Ended // other messages whose ids vary ended before
	}
	return found
}

// onlyBuilding returns the only message of a chunk's namespace and choice that is Building
// and matches, nil if there are none or several.
func (st *Step) onlyBuilding(c *chunks.Chunk, match func(*Message) bool) (found *Message) {
	for _, m := range st.State.Messages {
		if m.Phase != Building || m.Namespace != c.Namespace || m.Choice != c.Choice || !match(m) {
			continue
		}
		if found != nil {
			return nil
		}
		found = m
	}
	return found
}

// building reports whether args are to come, of a call that was closed in the
// middle of them too.
func (m *Message) building() bool {
	return m.any(func(c *Call) bool {
		return c.Closed == chunks.ClosedShort || c.State.Status == events.BuildingArgs && !c.Whole()
	})
}

// cut reports whether the end of the stream is in the middle of a call: the wire did not
// state that its args are complete.
func (m *Message) cut() bool {
	return m.building() || m.any(func(c *Call) bool { return c.State.Status == events.BuildingArgs })
}

// opens reports whether a fragment certainly begins a call that the message does
// not have.
func opens(m *Message, c *chunks.Chunk) bool {
	return !c.Whole && c.ID != "" && m.ByID(c.ID) < 0 && (c.Name != "" || m.ByIndex(c.Index) < 0) ||
		c.ID == "" && c.Name != "" && len(m.Calls) > 0 && m.open() == 0
}

func (st *Step) addFragment(m *Message, c *chunks.Chunk) {
	m.Overtaken = false
	pos, opened, err := m.Add(c, st.Rules.limits())
	if err != nil {
		st.rejectFragment(m, pos, c, err)
		return
	}
	if opened && !st.openCall(m, pos) {
		return
	}
	call := &m.Calls[pos]
	if call.State.Status.Terminal() {
		return
	}
	rewindSent(call)
	if call.State.Status == events.BuildingArgs {
		call.State.setDeadline(st.State.Time, st.Rules, call.Name)
	}
	st.emitStart(m, call, false)
	st.emitArgs(m, call, false)
	if c.Whole {
		st.completeArgs(m, call, completedBy(c))
	}
}

// openCall names the call that a fragment opened. It reports false where the
// session has too many: the call is dropped then.
func (st *Step) openCall(m *Message, pos int) bool {
	if st.State.Open() > st.Rules.MaxOpen {
		m.Drop()
		st.Reject(events.OverLimit, 0, fmt.Sprintf("more than %d calls are open", st.Rules.MaxOpen))
		return false
	}
	now := st.State.Time
	m.Calls[pos].State = newCall(st.callName(), now, now+events.Time(st.Rules.Expire))
	m.Calls[pos].State.Old = st.begins
	st.startOthers(m, pos)
	return true
}

// refuseRest refuses the continuation of a fragment that exceeds a limit of the
// session, so that it is not taken for another call.
func (st *Step) refuseRest(c *chunks.Chunk) {
	if c.Kind != chunks.Fragment || c.Whole || len(c.Message) > st.Rules.MaxName {
		return
	}
	if m := st.message(c); m != nil {
		m.Refuse(c)
	}
}

// completedBy returns the cause that completes a call that comes whole: itself,
// where the format sends its calls one by one, or else its full message.
func completedBy(c *chunks.Chunk) string {
	if c.Final {
		return "call"
	}
	return "message"
}

// rejectFragment reports that a fragment was not used, once per call.
func (st *Step) rejectFragment(m *Message, pos int, c *chunks.Chunk, err error) {
	code, text := events.OverLimit, rejectedText(err, m.ID, c.Index)
	switch {
	case errors.Is(err, chunks.ErrEnd), errors.Is(err, chunks.ErrStray):
		code = events.BadShape
	case errors.Is(err, chunks.ErrClosed):
		k := &m.Calls[pos]
		code, text = events.CallClosed, closedText(k.State.Call, k.State.ID, k.Name)
	}
	if pos >= 0 {
		call := &m.Calls[pos].State
		if call.Reported {
			return
		}
		call.Reported = true
	}
	st.Reject(code, 0, text)
}

// startOthers emits the start of the calls besides that at pos: the model
// continues with something else, so their names are final.
func (st *Step) startOthers(m *Message, pos int) {
	for i := range m.Calls {
		c := &m.Calls[i]
		if i != pos && !c.State.Started && !c.State.Status.Terminal() && c.ID != "" {
			st.emitStart(m, c, true)
		}
	}
}

// sealed applies the provider's statement that a call has all its args. Where
// they are not JSON, the finish reason first has to show whether the model was
// cut off: providers end the block of a truncated call too.
func (st *Step) sealed(c *chunks.Chunk) {
	m := st.current(c)
	if m == nil {
		return
	}
	pos := -1
	switch {
	case c.ID != "":
		pos = m.ByPlace(c.ID, c.Index)
	case c.Index != "":
		pos = m.ByIndex(c.Index)
	case len(m.Calls) > 0:
		pos = m.Latest
	}
	if pos >= 0 {
		st.sealCall(m, &m.Calls[pos], c.Restated)
	}
}

// sealCall completes a call that has all its args, if they can be used. Where the wire
// may state it as a whole too, no args can be lost ones.
func (st *Step) sealCall(m *Message, call *Call, restated chunks.Restating) {
	switch {
	case call.Usable() && (restated == chunks.NotRestated || !call.Missing()):
		st.completeArgs(m, call, "call")
	case call.State.Status == events.BuildingArgs:
		call.State.restate(restated)
	}
}

// completeRestated completes the calls of a run, or of all runs if run is "", which no
// statement as a whole followed, up to those of which one may follow until the end.
func (st *Step) completeRestated(run string, upTo chunks.Restating) {
	for m, call := range st.State.calls() {
		if r := call.State.Restated; r != chunks.NotRestated && r <= upTo && (run == "" || m.Run == run) {
			st.completeArgs(m, call, "message")
		}
	}
}

// answerRestated ends the calls whose results waited for a statement as a whole, because
// the stream ended before it.
func (st *Step) answerRestated() {
	for m, call := range st.State.calls() {
		if call.State.Restated != chunks.NotRestated && call.State.Status == events.BuildingArgs && call.State.Result != nil {
			st.answerCut(m, call, "result")
		}
	}
	st.dropFinished()
}

// next applies the beginning of another block where blocks follow each other.
func (st *Step) next(c *chunks.Chunk) {
	m := st.current(c)
	if m == nil {
		return
	}
	for i := range m.Calls {
		call := &m.Calls[i]
		if call.Index != c.Index && !call.Placeholder() && call.Whole() {
			st.completeArgs(m, call, "next")
		}
	}
}
