package lifecycle

import (
	"fmt"

	"streamer/internal/events"
)

// Reply is what a person decided about calls that wait. Each name that is set narrows
// which calls it means.
type Reply struct {
	ID          string // of the provider
	Call        string // in events
	InterruptID string
	Decision    string // approve, deny, edit or reply
	Args        string // JSON object of an edit, else ""
	Value       string // JSON, "" if none
	Text        string // the value where it is a string
	By          string
}

// Deny is the decision that closes a call.
const Deny = "deny"

// Reply ends the wait of the calls that an answer means: all that wait for its interrupt,
// or the one that it names. A denied call is closed. Where none waits, it is reported.
func (st *Step) Reply(a Reply) {
	if text := st.answerTooLong(&a); text != "" {
		st.Reject(events.OverLimit, 0, text)
		return
	}
	from := len(st.Out)
	waits := func(c *Call) bool {
		return c.State.Status == events.AwaitingInput && (a.InterruptID == "" || c.State.interruptID() == a.InterruptID)
	}
	if a.ID+a.Call != "" {
		if m, c := st.oldest(anywhere, func(_ *Message, c *Call) bool { return waits(c) && isNamed(c, a.ID, a.Call) }); m != nil {
			st.answerCall(m, c, &a)
		}
	} else {
		for m, c := range st.State.calls() {
			if waits(c) {
				st.answerCall(m, c, &a)
			}
		}
	}
	if len(st.Out) == from {
		t := &events.Target{InterruptID: shorten(a.InterruptID, maxMissingName)}
		t.ToolCallIDs, t.Calls, t.More = missing(present(a.ID), present(a.Call))
		e := st.unmatched(answerKind, t)
		if first := st.State.Memory.answered(&a); first != nil {
			e.Decision, e.By = first.Decision, first.By
		}
	}
	st.dropFinished()
}

func (st *Step) answerTooLong(a *Reply) string {
	for _, f := range [...]struct {
		name, value string
		limit       int
	}{
		{"by", a.By, st.Rules.MaxName},
		{"args", a.Args, st.Rules.MaxEventText},
		{"value", a.Value, st.Rules.MaxEventText},
	} {
		if len(f.value) > f.limit {
			return fmt.Sprintf("%s of %d bytes is longer than %d", f.name, len(f.value), f.limit)
		}
	}
	return ""
}

// answerCall is the transition of a call that waits: back to args_complete, or to denied.
func (st *Step) answerCall(m *Message, c *Call, a *Reply) {
	s := &c.State
	interrupt := s.interruptID()
	s.resume()
	s.setDeadline(st.State.Time, st.Rules, c.Name)
	e := st.emitCall(events.ToolCallAnswered, m, c)
	e.InterruptID, e.Decision, e.By, e.Input = interrupt, clone(a.Decision), clone(a.By), st.Seq
	e.ToolArgs, e.Value = copied(a.Args), copied(a.Value)
	st.State.Memory.answer(Answered{e.Call, e.ID, e.UID, interrupt, e.Decision, e.By})
	if a.Decision != Deny {
		e.Status, e.Deadline = s.Status, at(s.Deadline)
		return
	}
	e.Status = events.Denied
	st.close(m, c, events.Denied, events.ByDenied, st.brief(a.Text))
}

// Answers are the last answers that ended the wait of a call.
type Answers struct{ List []Answered }

// Answered is an answer that ended the wait of a call.
type Answered struct{ Call, ID, UID, InterruptID, Decision, By string }

// maxAnswered bounds the answers that a session remembers.
const maxAnswered = 32

func (m *Memory) answer(a Answered) {
	if m.Answers == nil {
		m.Answers = new(Answers)
	}
	list := append(m.Answers.List, a)
	m.Answers.List = list[max(0, len(list)-maxAnswered):]
}

// answered returns the newest answer to a call that another answer means, or nil.
func (m *Memory) answered(a *Reply) *Answered {
	if m.Answers == nil {
		return nil
	}
	for i := len(m.Answers.List) - 1; i >= 0; i-- {
		f := &m.Answers.List[i]
		named := f.Call == a.Call || a.Call == "" && (a.ID == "" || f.ID == a.ID || f.UID == a.ID)
		if named && (a.InterruptID == "" || f.InterruptID == a.InterruptID) {
			return f
		}
	}
	return nil
}

// copied returns a copy of JSON that shares memory with the input, nil for none.
func copied(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
