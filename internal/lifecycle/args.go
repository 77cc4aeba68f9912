package lifecycle

import (
	"unicode/utf8"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// emitStart emits tool_call_start once a call has its final name, and its id or
// the certainty that none comes. sure states that both are final.
func (st *Step) emitStart(m *Message, c *Call, sure bool) {
	if c.State.Started {
		return
	}
	if !sure && !c.Final && (c.ID == "" || c.Name == "" || len(c.Text) == 0) {
		return
	}
	id := c.ID
	if id == "" {
		st.State.IDs++
		id = st.State.SynthesizedID(0)
	}
	c.State.start(id, c.ID == "", st.State.Memory.used(id) || st.usedByOpen(c, id))
	e := st.emitCall(events.ToolCallStart, m, c)
	e.Kind, e.ParentCall, e.ProviderExecuted = kind(c), c.ParentCall(), c.Provider
	e.Deadline = at(c.State.Deadline)
	if r := st.State.Memory.adopt(id); r != nil && c.State.Result == nil {
		c.State.hold(r)
	}
}

func (st *Step) usedByOpen(c *Call, id string) bool {
	for _, other := range st.State.calls() {
		if s := &other.State; other != c && s.Started && (s.ID == id || s.UID() == id) {
			return true
		}
	}
	return false
}

func (st *Step) emitArgs(m *Message, c *Call, all bool) {
	s := &c.State
	held := len(c.Text) - s.Sent
	switch {
	case held <= 0 || !s.Started || s.Status != events.BuildingArgs || st.Rules.Deltas == Off:
		return
	case !c.Sealed && (c.Object || c.Placeholder() || c.Hold):
		return // another text may replace it
	case s.Sent == 0 && (c.Object || c.Placeholder()):
		return // tool_call_args_complete has all of it
	case all || s.Sent == 0 || st.Rules.Deltas == Every:
	case held < st.Rules.DeltaBytes && st.State.Time-s.SentAt < st.Rules.window(s.Sent):
		return
	}
	for s.Sent < len(c.Text) {
		piece := prefix(c.Text[s.Sent:], st.Rules.MaxEventText)
		e := st.emitCall(events.ToolCallArgsDelta, m, c)
		e.Offset, e.Args = events.OffsetAt(s.Sent), chunks.Shared(piece)
		s.Sent += len(piece)
	}
	s.SentAt = st.State.Time
}

func prefix(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	for limit > 1 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// completeArgs is the transition of a call to args_complete; by is its cause. It
// is irrevocable. A result that waited for it ends the call.
func (st *Step) completeArgs(m *Message, c *Call, by string) {
	if c.State.Status != events.BuildingArgs {
		return
	}
	st.flushArgs(m, c)
	args := c.Args()
	c.State.completeArgs(st.State.Time, &args)
	own := &struct { // of the event, which outlives the call's text
		text  string
		valid bool
	}{chunks.Shared(c.Text), args.Valid}
	c.State.setDeadline(st.State.Time, st.Rules, c.Name)
	e := st.emitCall(events.ToolCallArgsComplete, m, c)
	e.ArgsText, e.ToolArgs, e.ArgsValid = &own.text, args.JSON, &own.valid
	e.ArgsError, e.DoubleEncoded, e.By = args.Error, args.DoubleEncoded, by
	e.Deadline = at(c.State.Deadline)
	if m.Phase == Finished {
		c.Text = nil // the event log has it
	}
	if c.State.Result != nil {
		st.complete(m, c, *c.State.Result)
	}
}

// flushArgs seals the args of a call and emits its start and all its args.
func (st *Step) flushArgs(m *Message, c *Call) {
	if c.State.Status == events.BuildingArgs {
		c.Seal()
		rewindSent(c)
	}
	st.emitStart(m, c, true)
	st.emitArgs(m, c, true)
}

// rewindSent moves the position of the next args delta back to where another
// text replaced the emitted one. The offset of the next delta announces it, so there
// is one even where the text only became shorter.
func rewindSent(c *Call) {
	kept := c.Kept()
	if kept < c.State.Sent && kept == len(c.Text) {
		_, last := utf8.DecodeLastRune(c.Text)
		kept -= last
	}
	c.State.Sent = min(c.State.Sent, kept)
}
