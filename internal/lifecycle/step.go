package lifecycle

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Step folds one input into a State and collects the events that follow. An input
// takes one Step: New, then the methods for its statements in their order, then
// Done.
type Step struct {
	State   *State
	Rules   *Rules
	Session string
	Seq     uint64 // of the input
	// Shape is the history shape of the input's format (langchain, openai,
	// anthropic, responses).
	Shape string
	Out   []events.Event

	n int // number of the next event of this input
	k int // number of the next call that this input opens
	// frame has the chunks of the current stream event, and rest those after the
	// current chunk.
	frame, rest []chunks.Chunk
	// numbers are those of the whole calls of the frame; nil before the first use.
	numbers map[*chunks.Chunk]int
	// begins states that the frame is a snapshot at the beginning of a run.
	begins bool
	// rooted is a finished root message with which the run may end, or nil.
	rooted *Message
}

// New returns the Step of an input that was stored at a time. Fold time never goes
// back. clock states that it is a clock input, which does not end a silence.
func New(out []events.Event, s *State, r *Rules, session string, seq uint64, at events.Time, clock bool) *Step {
	s.begin(seq, at, clock)
	return &Step{State: s, Rules: r, Session: session, Seq: seq, Out: out}
}

// begin notes that an input comes. With it, New would be too large to be inlined, and
// every Step would be allocated.
//
//go:noinline
func (s *State) begin(seq uint64, at events.Time, clock bool) {
	s.advance(at)
	if !clock {
		s.Last = s.Time
	}
	if s.First == 0 {
		s.First = seq
	}
}

// Chunks folds the chunks of one stream event.
func (st *Step) Chunks(frame []chunks.Chunk) {
	st.frame, st.numbers = frame, nil
	old := st.history(frame)
	for i := range frame {
		if old != nil && old[i] {
			continue
		}
		st.rest = frame[i+1:]
		st.chunk(&frame[i])
	}
	if old != nil {
		st.historyEnd(frame)
	}
}

func (st *Step) chunk(c *chunks.Chunk) {
	if text := st.tooLong(c); text != "" {
		st.refuseRest(c)
		st.Reject(events.OverLimit, 0, text)
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
		st.ended(c)
	case chunks.Result:
		st.Result(resultOf(c), c.Call)
	case chunks.Human:
		st.human(c)
	case chunks.HumanText:
		st.humanText(c)
	case chunks.Await:
		st.await(c)
	case chunks.Resume:
		st.endWait(c)
	case chunks.Progress:
		st.Progress(c)
	case chunks.RunStart:
		st.startRun(c.Run)
		st.State.Run.ends(c.Explicit)
	case chunks.RunEnd:
		st.abandon(c)
		st.End(events.Status(c.Status), c.Text)
	case chunks.Attempt:
		st.attempt()
	case chunks.Failure:
		st.failure(c)
	case chunks.Rename:
		st.rename(c)
	case chunks.Done:
		st.done()
		st.endStream()
	case chunks.Listed:
	case chunks.Answer:
		st.answer(c)
	}
}

// tooLong returns a text about the field of a chunk that is longer than an event
// may repeat, or "". Args, content and results have other limits.
func (st *Step) tooLong(c *chunks.Chunk) string {
	limit := st.Rules.MaxName
	if len(c.Message)+len(c.Run)+len(c.Role)+len(c.Index)+len(c.ID)+len(c.CallKind)+len(c.ParentCall)+len(c.Reason)+
		len(c.Why)+len(c.InterruptID)+len(c.Namespace) <= limit && c.Usage == "" && c.Kind != chunks.Progress && c.Kind != chunks.Result {
		return "" // the usual case, without a look at each field
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

// maxDetail bounds, in bytes, the text that a client or a provider sent with an
// interrupt or a failure. The result of every call repeats it.
const maxDetail = 1 << 10

// brief returns the text of an interrupt or a failure, cut to maxDetail with a
// note where it is longer.
func (st *Step) brief(s string) string { return shorten(s, min(maxDetail, st.Rules.MaxEventText)) }

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return clone(s)
	}
	kept := prefix([]byte(s), limit)
	return fmt.Sprintf("%s… (%d bytes more)", kept, len(s)-len(kept))
}

// Reject reports that an input, or a part of it, was not used.
func (st *Step) Reject(code events.Code, offset int, text string) {
	e := st.emit(events.Rejected)
	e.Reason = &events.Reason{Code: code, Text: text}
	e.Offset = events.OffsetAt(offset)
	e.Input = st.Seq
}

// Done ends the step and returns its events.
func (st *Step) Done() []events.Event {
	st.applyStop()
	st.EndEvent()
	return st.Out
}

// EndEvent ends a stream event. It ends the run if its last message was finished and
// left nothing open. The next event may be in the same input or in another one.
func (st *Step) EndEvent() {
	s := st.State
	if m := st.rooted; m != nil && s.Run != nil && s.Run.ID == m.Run && !s.Run.Failed && len(s.Messages) == 0 {
		st.nothingLeft()
	}
	st.rooted = nil
}

func (st *Step) emit(t events.Type) *events.Event {
	if run := st.State.Run; run != nil {
		return st.append(t, run.ID)
	}
	return st.append(t, "")
}

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

// emitMessage appends an event about a message, after its message_started.
func (st *Step) emitMessage(t events.Type, m *Message) *events.Event {
	if m.Quiet {
		st.emitStarted(m)
	}
	if m.place == nil {
		m.place = &events.Place{MessageID: m.ID, Namespace: m.Namespace, Choice: m.Choice}
	}
	e := st.append(t, m.Run)
	e.Place = m.place
	return e
}

func (st *Step) emitCall(t events.Type, m *Message, c *Call) *events.Event {
	e, s := st.emitMessage(t, m), &c.State
	e.Call, e.ID, e.IDSynthesized, e.UID = s.Call, s.ID, s.Synth, s.UID()
	e.ToolName = c.Name
	e.Index = chunks.RawIndex(c.Index)
	return e
}

func (st *Step) callName() string {
	k := st.k
	st.k++
	return events.ID{Seq: st.Seq, N: k}.String()
}

// clone copies a string that shares memory with the input.
func clone(s string) string { return strings.Clone(s) }
