package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

func (st *Step) complete(m *Message, c *Call, r Result) {
	e := st.endCall(m, c, r.Status, r.digest())
	e.ToolResult = r.Content
	st.setDurations(e, &c.State)
	c.Text = nil
	st.ranIn(m, r.Namespace)
}

// close is the transition of an open call to a status without a real result. The
// synthetic message for the history directly follows the event. A call whose real result
// waits for the args ends with that result, because its tool ran.
func (st *Step) close(m *Message, c *Call, status events.Status, code events.Code, detail string) {
	if c.State.Status.Terminal() {
		return
	}
	if c.State.Result != nil {
		st.answerCut(m, c, "result")
		c.Close()
		return
	}
	building := c.State.Status == events.BuildingArgs
	e := st.endCall(m, c, status, "")
	// A tool can have run with whole args even if they were not emitted as complete.
	words := events.TextFor(code, c.State.Usable || building && c.Whole())
	text := st.Rules.sentence(words, c.Name, c.State.ID)
	e.Synthetic = true
	e.Reason = &events.Reason{Code: code, Text: text, Detail: detail}
	e.ToolResult = events.Quote(text)
	if code != events.ByLost { // lost inputs leave unknown how long the call took
		st.setDurations(e, &c.State)
	}
	if building {
		c.Close()
	}
	c.Text = nil
	e = st.emitCall(events.Synthetic, m, c)
	e.Shape, e.Text, e.Status = m.Shape, words, status
	e.Kind, e.ParentCall = c.Kind(), c.ParentCall()
	e.Reason = &events.Reason{Code: code, Text: text}
}

// endCall is the transition of a call to a terminal status, the only one. It
// emits the tool_call_result, which the caller completes, and remembers the call
// as closed. real is the digest of the real result, "" where there is none.
func (st *Step) endCall(m *Message, c *Call, status events.Status, real string) *events.Event {
	announced := c.State.Status != events.BuildingArgs
	st.flushArgs(m, c)
	var others Digests
	if c.State.Result != nil {
		others = c.State.Result.Others
	}
	c.State.end(status)
	s := &c.State
	st.State.Memory.close(Closed{
		Call: s.Call, ID: s.ID, Name: c.Name, UID: s.UID(), Synth: s.Synth, Real: real, Others: others, Run: m.Run, Args: s.Args,
		Message: m.ID, Namespace: m.Namespace, Choice: m.Choice, Index: c.Index,
		Child: c.ParentCall() != "", Began: len(c.Text) > 0, Reported: s.Reported,
	}, st.Rules.MaxClosed)
	e := st.emitCall(events.ToolCallResult, m, c)
	e.Status, e.ArgsAnnounced = status, &announced
	return e
}

func (st *Step) setDurations(e *events.Event, c *CallState) {
	took := &struct{ total, args, run int64 }{total: int64(st.State.Time - c.BeganAt)}
	e.DurationMS = &took.total
	if c.Complete != 0 {
		took.args, took.run = int64(c.Complete-c.BeganAt), int64(st.State.Time-c.Complete)
		e.ArgsMS, e.RunMS = &took.args, &took.run
	}
}

// closeCalls closes the open calls of the messages that match, or only those whose args
// are incomplete. The order is that of the messages and of the first fragments.
func (st *Step) closeCalls(match func(*Message) bool, building bool, code events.Code, detail string) {
	for m, c := range st.State.calls() {
		if match(m) && (!building || c.State.Status == events.BuildingArgs) {
			st.close(m, c, events.Cancelled, code, detail)
		}
	}
}

func (st *Step) mute(match func(*Message) bool) {
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase != Finished && match(m) {
			st.State.Memory.mute(m.Namespace, m.ID, st.State.Time)
			st.muteAlias(m)
			st.finishMessage(m, m.Phase != Finishing) // one whose finish reason is known was not abandoned
		}
	}
}

// muteAlias ignores the bytes of a message under its other id. If the id changes in the
// course of the message, it may change again.
func (st *Step) muteAlias(m *Message) {
	if m.Alias == "" {
		return
	}
	st.State.Memory.mute(m.Namespace, m.Alias, st.State.Time)
	if !m.Renamed {
		st.State.Memory.mute(m.Namespace, "", st.State.Time)
	}
}

func (st *Step) attempt() {
	run := st.State.LastRun
	ofRun := func(m *Message) bool { return m.Run == run }
	st.closeCalls(ofRun, false, events.BySuperseded, "")
	st.supersede(ofRun)
}

// failure closes the messages that the provider ended before they were complete. A run
// with nothing else open ends as cancelled with a message that was stopped.
func (st *Step) failure(c *chunks.Chunk) {
	named := func(m *Message) bool { return m.Namespace == c.Namespace && (c.Message == "" || m.has(c.Message)) }
	affected := func(m *Message) bool { return m.Phase != Finished && named(m) }
	if c.IDVaries && c.Message != "" && !slices.ContainsFunc(st.State.Messages, affected) {
		affected = named // it was finished, by a finish reason and silence
	}
	code, detail, stopped := events.BySuperseded, st.brief(c.Text), c.Status == "cancelled"
	if stopped {
		code = events.ByRunCancelled
	}
	st.closeCalls(affected, c.Spares, code, detail)
	for _, m := range slices.Clone(st.State.Messages) {
		if !affected(m) {
			continue
		}
		if !stopped {
			st.noteFailed(m, c.Text)
		}
		if m.Phase != Finished {
			m.failed(stopped)
			st.finishMessage(m, true)
		}
	}
	st.dropFinished()
	if s := st.State; stopped && s.Run != nil && len(s.Messages) == 0 {
		st.endRun(events.Cancelled, runReason(code, detail))
	}
}
