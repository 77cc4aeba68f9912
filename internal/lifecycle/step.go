package lifecycle

import (
	"fmt"
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Step folds what one input says into a State and collects the events that
// follow. Take a Step per input: New, then any of its methods in the order the
// input says things.
type Step struct {
	State   *State
	Rules   *Rules
	Session string
	Seq     uint64 // of the input
	// Shape is the history shape of the format that speaks (langchain, openai,
	// anthropic, responses).
	Shape string
	Out   []events.Event

	n int // events told by this input
	k int // calls opened by it
	// frame is what the stream event says, rest of it what comes after the chunk
	// that is being taken.
	frame, rest []chunks.Chunk
	// rooted: a root message was finished that may end the run.
	rooted *Message
}

// New begins the step of an input stored at a time. Time never goes back.
// clock says that the input is the clock's, which is no sign of life.
func New(out []events.Event, s *State, r *Rules, session string, seq uint64, at events.Time, clock bool) *Step {
	s.Time = max(s.Time, at)
	if !clock {
		s.Last = s.Time
	}
	return &Step{State: s, Rules: r, Session: session, Seq: seq, Out: out}
}

// Chunks folds what one stream event says.
func (st *Step) Chunks(frame []chunks.Chunk) {
	old := st.history(frame)
	var past map[int]bool
	if st.frame = frame; len(frame) > 1 {
		past = st.past(frame)
	}
	for i := range frame {
		if i < old && frame[i].Repeated || past != nil && past[i] {
			continue
		}
		st.rest = frame[i+1:]
		st.chunk(&frame[i])
	}
}

func (st *Step) chunk(c *chunks.Chunk) {
	if what := st.tooLong(c); what != "" {
		st.lose(c)
		st.Reject(events.OverLimit, 0, what)
		return
	}
	switch c.Kind {
	case chunks.Start:
		st.start(c)
	case chunks.Fragment:
		st.fragment(c)
	case chunks.Seal:
		st.sealed(c)
	case chunks.Next:
		st.next(c)
	case chunks.Text, chunks.Reasoning:
		st.text(c)
	case chunks.PartEnd:
		st.partEnd(c)
	case chunks.Finish:
		st.finish(c)
	case chunks.Usage:
		st.usage(c)
	case chunks.Ended:
		st.done(c)
	case chunks.Result:
		st.Result(resultOf(c), c.Call)
	case chunks.Human:
		st.human(c)
	case chunks.Await:
		st.await(c)
	case chunks.Progress:
		st.Progress(c.ID, c.Call, c.Text, c.Percent, c.HasPercent)
	case chunks.RunStart:
		st.runStart(c.Run)
	case chunks.RunEnd:
		st.End(events.Status(c.Status), c.Text)
	case chunks.Attempt:
		st.attempt()
	case chunks.Failure:
		st.failure(c)
	case chunks.Rename:
		st.rename(c)
	}
}

// tooLong says what in a chunk is longer than an event may repeat. (Args,
// content and results have limits of their own.)
func (st *Step) tooLong(c *chunks.Chunk) string {
	limit := st.Rules.MaxName
	if len(c.Message)+len(c.Run)+len(c.Role)+len(c.Index)+len(c.ID)+len(c.CallKind)+len(c.ParentCall)+len(c.Reason)+
		len(c.Why)+len(c.InterruptID)+len(c.Namespace) <= limit && c.Usage == "" && c.Kind != chunks.Progress && c.Kind != chunks.Result {
		return "" // as in nearly all
	}
	for _, f := range [...]struct{ name, value string }{
		{"message id", c.Message},
		{"run id", c.Run},
		{"role", c.Role},
		{"index", c.Index},
		{"tool call id", c.ID},
		{"name of our own of a call", c.Call},
		{"kind of a call", c.CallKind},
		{"parent call", c.ParentCall},
		{"finish reason", c.Reason},
		{"kind of a wait", c.Why},
		{"interrupt id", c.InterruptID},
	} {
		if len(f.value) > limit {
			return fmt.Sprintf("%s of %d bytes is longer than %d", f.name, len(f.value), limit)
		}
	}
	switch {
	case c.Kind == chunks.Result && len(c.Name) > limit:
		return fmt.Sprintf("tool name of %d bytes is longer than %d", len(c.Name), limit)
	case len(c.Namespace) > 4*limit:
		return fmt.Sprintf("namespace of %d bytes is longer than %d", len(c.Namespace), 4*limit)
	case len(c.Usage) > st.Rules.MaxEventText:
		return fmt.Sprintf("usage of %d bytes is longer than %d", len(c.Usage), st.Rules.MaxEventText)
	case c.Kind == chunks.Progress && len(c.Text) > st.Rules.MaxEventText:
		return fmt.Sprintf("progress message of %d bytes is longer than %d", len(c.Text), st.Rules.MaxEventText)
	}
	return ""
}

// maxDetail bounds, in bytes, what an event repeats of the words that somebody
// else found for an interrupt or a failure: it stands in every call's result.
const maxDetail = 1 << 10

// brief keeps what was said of an interrupt or a failure to maxDetail, and says
// so where it cuts.
func (st *Step) brief(s string) string { return shorten(s, min(maxDetail, st.Rules.MaxEventText)) }

// shorten returns a copy of s, cut to limit bytes with a note where it is longer.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return clone(s)
	}
	kept := cut([]byte(s), limit)
	return fmt.Sprintf("%s… (%d bytes more)", kept, len(s)-len(kept))
}

// Reject tells that an input, or a part of it, was not used.
func (st *Step) Reject(code events.Code, offset int, text string) {
	e := st.emit(events.Rejected)
	e.Reason = &events.Reason{Code: code, Text: text}
	e.Offset = events.OffsetAt(offset)
	e.Input = st.Seq
}

// Flush tells everything that is held back for a little while: coalesced
// text, and the end of messages that waited for their usage.
func (st *Step) Flush() {
	for _, m := range st.State.Messages {
		for i := range m.Calls {
			st.tellArgs(m, i, true)
		}
		st.tellText(m, true)
	}
	st.finalise(func(m *Message) bool { return m.Phase == Finishing })
}

// Done ends the step: a run whose last message is over, and that left nothing
// open, is over too.
func (st *Step) Done() []events.Event {
	s := st.State
	if m := st.rooted; m != nil && s.Run != nil && s.Run.ID == m.Run && len(s.Messages) == 0 {
		st.endRun(events.Completed, nil)
	}
	return st.Out
}

// emit appends an event of the run that is going on.
func (st *Step) emit(t events.Type) *events.Event {
	if run := st.State.Run; run != nil {
		return st.append(t, run.ID)
	}
	return st.append(t, "")
}

// append appends an event with what all events have.
func (st *Step) append(t events.Type, run string) *events.Event {
	st.Out = append(st.Out, events.Event{
		Type:      t,
		EventID:   events.ID{Seq: st.Seq, N: st.n},
		Session:   st.Session,
		Run:       run,
		Timestamp: st.State.Time,
	})
	st.n++
	return &st.Out[len(st.Out)-1]
}

// emitMessage appends an event about a message.
func (st *Step) emitMessage(t events.Type, m *Message) *events.Event {
	if m.place == nil {
		m.place = &events.Place{MessageID: m.ID, Namespace: m.Namespace, Choice: m.Choice}
	}
	e := st.append(t, m.Run)
	e.Place = m.place
	return e
}

// emitCall appends an event about a call.
func (st *Step) emitCall(t events.Type, m *Message, i int) *events.Event {
	e := st.emitMessage(t, m)
	said, c := &m.Asm.Calls[i], m.Calls[i]
	e.Call, e.ID, e.IDSynthesized, e.UID = c.Call, c.ID, c.Synth, c.UID()
	e.ToolName = said.Name
	if said.Index != "" {
		e.Index = said.RawIndex()
	}
	return e
}

// name gives the next call this input opens its name.
func (st *Step) name() string {
	k := st.k
	st.k++
	return strconv.FormatUint(st.Seq, 10) + "." + strconv.Itoa(k)
}

func clone(s string) string { return strings.Clone(s) }
