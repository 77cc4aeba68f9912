package lifecycle

import (
	"strings"
	"unicode/utf8"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// tellStart announces a call once its name is final and its id has come, or
// never will. sure says that both are as final as they get.
func (st *Step) tellStart(m *Message, i int, sure bool) {
	c, said := m.Calls[i], &m.Asm.Calls[i]
	if c.Started {
		return
	}
	if !sure && !said.Final && (said.ID == "" || said.Name == "" || len(said.Text) == 0) {
		return
	}
	if sure && said.ID == "" || said.Final && said.ID == "" {
		c.Synth = true
	}
	c.Started = true
	c.ID = said.ID
	if c.Synth {
		c.ID = SynthesizedID(c.Call)
	}
	if st.State.Memory.used(c.ID) || st.elsewhere(c) {
		c.rare().UID = c.ID + "~" + c.Call
	}
	e := st.emitCall(events.ToolCallStart, m, i)
	e.Kind, e.ParentCall, e.ProviderExecuted = kind(said), said.ParentCall(), said.Provider
	e.Deadline = at(c.Deadline)
	if r := st.State.Memory.adopt(c.ID); r != nil {
		c.Result = r
	}
}

// elsewhere tells whether another open call has the id of c, or is named so.
func (st *Step) elsewhere(c *Call) bool {
	for _, m := range st.State.Messages {
		for _, other := range m.Calls {
			if other != c && other.Started && (other.ID == c.ID || other.UID() == c.ID) {
				return true
			}
		}
	}
	return false
}

// tellArgs sends what of the args has not been told: the first at once, then
// as the rules ask; all sends the rest in any case.
func (st *Step) tellArgs(m *Message, i int, all bool) {
	c, said := m.Calls[i], &m.Asm.Calls[i]
	held := len(said.Text) - c.Sent
	switch {
	case held <= 0 || !c.Started || c.Status != events.BuildingArgs || st.Rules.Deltas == Off:
		return
	case !said.Sealed && (said.Object || said.Placeholder() || said.Hold):
		return // held back until it is sure what they are
	case c.Sent == 0 && (said.Object || said.Placeholder()):
		return // tool_call_args_complete says it all
	case all || c.Sent == 0 || st.Rules.Deltas == Every:
	case held < st.Rules.DeltaBytes && st.State.Time-c.SentAt < events.Time(st.Rules.DeltaEvery):
		return
	}
	for c.Sent < len(said.Text) {
		piece := cut(said.Text[c.Sent:], st.Rules.MaxEventText)
		e := st.emitCall(events.ToolCallArgsDelta, m, i)
		e.Offset, e.Args = events.OffsetAt(c.Sent), chunks.Shared(piece)
		c.Sent += len(piece)
	}
	c.SentAt = st.State.Time
}

// cut gives the first bytes of text, at most limit, without breaking a
// character.
func cut(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	for limit > 1 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// complete is the transition to args_complete, by whatever says so. It is
// irrevocable. A result that waited for it follows.
func (st *Step) complete(m *Message, i int, by string) {
	c, said := m.Calls[i], &m.Asm.Calls[i]
	if c.Status != events.BuildingArgs {
		return
	}
	st.seal(m, i)
	st.tellStart(m, i, true)
	st.tellArgs(m, i, true)
	c.Status = events.ArgsComplete
	c.Complete = st.State.Time
	args := said.Args()
	c.Usable, c.Args = args.Valid, fingerprint(args.JSON)
	st.arm(m, i)
	e := st.emitCall(events.ToolCallArgsComplete, m, i)
	text := chunks.Shared(said.Text)
	e.ArgsText, e.ToolArgs, e.ArgsValid = &text, args.JSON, &args.Valid
	e.ArgsError, e.DoubleEncoded, e.By = args.Error, args.DoubleEncoded, by
	e.Deadline = at(c.Deadline)
	if m.Phase == Finished {
		said.Text = nil // it is in the log, and nobody can resend it
	}
	if c.Result != nil {
		st.terminal(m, i, *c.Result)
	}
}

// terminal is the transition to a real result.
func (st *Step) terminal(m *Message, i int, r Result) {
	c := m.Calls[i]
	announced := c.Status != events.BuildingArgs
	st.tellStart(m, i, true)
	st.flushCall(m, i)
	c.Status = r.Status
	e := st.emitCall(events.ToolCallResult, m, i)
	e.Status, e.ToolResult, e.ArgsAnnounced = r.Status, r.Content, &announced
	st.durations(e, c)
	st.forgetCall(m, i, r.digest())
}

// close is the transition to a synthetic result. The message for the history
// stands directly behind the event.
func (st *Step) close(m *Message, i int, status events.Status, code events.Code, detail string) {
	c, said := m.Calls[i], &m.Asm.Calls[i]
	if c.Status.Terminal() {
		return
	}
	announced := c.Status != events.BuildingArgs
	st.tellStart(m, i, true)
	st.flushCall(m, i)
	c.Status = status
	// Args that are whole may have been acted on, even unannounced.
	sort := events.TextFor(code, c.Usable || !announced && said.Whole())
	text := st.Rules.sentence(sort, said.Name, c.ID)
	e := st.emitCall(events.ToolCallResult, m, i)
	e.Status, e.Synthetic, e.ArgsAnnounced = status, true, &announced
	e.Reason = &events.Reason{Code: code, Text: text, Detail: detail}
	e.ToolResult = events.Quote(text)
	st.durations(e, c)
	if !announced && st.Rules.Strict() {
		said.Close()
	}
	e = st.emitCall(events.Synthetic, m, i)
	e.Shape, e.Text, e.Status = m.Shape, sort, status
	e.Kind, e.ParentCall = said.Kind(), said.ParentCall()
	e.Reason = &events.Reason{Code: code, Text: text}
	st.forgetCall(m, i, "")
}

// flushCall tells what was held back of the args of a call that closes before
// they are complete.
func (st *Step) flushCall(m *Message, i int) {
	if m.Calls[i].Status == events.BuildingArgs {
		st.seal(m, i)
		st.tellArgs(m, i, true)
	}
}

// seal ends the args of a call.
func (st *Step) seal(m *Message, i int) {
	m.Asm.Calls[i].Seal()
	st.resumeAt(m, i)
}

// resumeAt goes back to where the args that were told are still the text: the
// next delta's offset says from where it holds.
func (st *Step) resumeAt(m *Message, i int) {
	c := m.Calls[i]
	c.Sent = min(c.Sent, m.Asm.Calls[i].Kept())
}

func (st *Step) durations(e *events.Event, c *Call) {
	total := int64(st.State.Time - c.Begun)
	e.DurationMS = &total
	if c.Complete != 0 {
		args, run := int64(c.Complete-c.Begun), int64(st.State.Time-c.Complete)
		e.ArgsMS, e.RunMS = &args, &run
	}
}

// forgetCall moves a call that is over into memory.
func (st *Step) forgetCall(m *Message, i int, real string) {
	c, said := m.Calls[i], &m.Asm.Calls[i]
	others := Digests("")
	if c.Result != nil {
		others = c.Result.Others
	}
	c.Deadline, c.Result = 0, nil
	said.Text = nil
	st.State.Memory.close(Closed{
		Call: c.Call, ID: c.ID, Name: said.Name, UID: c.UID(), Synth: c.Synth, Real: real, Others: others, Run: m.Run, Args: c.Args,
		Message: m.ID, Namespace: m.Namespace, Choice: m.Choice, Index: said.Index,
	}, st.Rules.MaxClosed)
}

// arm sets the deadline that holds for a call from now.
func (st *Step) arm(m *Message, i int) {
	c, said := m.Calls[i], &m.Asm.Calls[i]
	tool := st.Rules.tool(said.Name)
	expiry := c.Expires
	switch c.Status {
	case events.BuildingArgs:
		c.Deadline = min(expiry, st.State.Time+events.Time(tool.ArgsTimeout))
	case events.ArgsComplete:
		c.Deadline = min(expiry, st.State.Time+events.Time(tool.ResultTimeout))
	case events.AwaitingInput:
		c.Deadline = expiry
		if st.Rules.WaitTimeout > 0 {
			c.Deadline = min(expiry, st.State.Time+events.Time(st.Rules.WaitTimeout))
		}
	}
}

func kind(c *chunks.Call) string {
	if k := c.Kind(); k != "" {
		return k
	}
	return "function"
}

func at(t events.Time) *events.Time {
	if t == 0 {
		return nil
	}
	return &t
}

// SynthesizedID is the id of a call to which the wire gives none, made of our
// own name of the call so that it fits what every provider allows.
func SynthesizedID(call string) string {
	return "call_" + strings.ReplaceAll(call, ".", "_")
}
