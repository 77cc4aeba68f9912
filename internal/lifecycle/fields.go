package lifecycle

import (
	"streamer/internal/chunks"
	"streamer/internal/stored"
)

// Fields visits the members of the stored form.
func (s *State) Fields(f *stored.Fields) {
	stored.Number(f, "time", &s.Time)
	stored.Number(f, "last", &s.Last)
	stored.Number(f, "stored", &s.Stored)
	stored.Pointer(f, "run", &s.Run, (*Run).fields)
	f.Text("last_run", &s.LastRun)
	stored.Number(f, "turn", &s.Turn)
	stored.Number(f, "ids", &s.IDs)
	stored.Number(f, "first", &s.First)
	stored.List(f, "messages", &s.Messages, messageFields)
	stored.Object(f, "memory", &s.Memory, (*Memory).fields)
	stored.Pointer(f, "human", &s.Human, (*Human).fields)
	stored.Pointer(f, "stop", &s.Stop, (*Stop).fields)
}

func (s *Stop) fields(f *stored.Fields) {
	f.Text("reason", &s.Reason)
	stored.Number(f, "until", &s.Until)
	f.Text("run", &s.Run)
}

func (r *Run) fields(f *stored.Fields) {
	f.Text("id", &r.ID)
	stored.Pointer(f, "asked", &r.Asked, (*Answer).fields)
	f.Text("detail", &r.Detail)
	f.Flag("failed", &r.Failed)
	f.Flag("explicit", &r.Explicit)
	f.Flag("rests", &r.Rests)
}

func (a *Answer) fields(f *stored.Fields) {
	f.Text("ns", &a.Namespace)
	f.Text("id", &a.Message)
	stored.Number(f, "choice", &a.Choice)
}

func messageFields(m **Message, f *stored.Fields) {
	if *m == nil {
		*m = new(Message)
	}
	(*m).fields(f)
}

func (m *Message) fields(f *stored.Fields) {
	f.Text("ns", &m.Namespace)
	f.Text("id", &m.ID)
	stored.Number(f, "choice", &m.Choice)
	stored.Number(f, "phase", &m.Phase)
	stored.Object(f, "calls", &m.Assembler, assemblerFields)
	f.Text("run", &m.Run)
	stored.Object(f, "parts", &m.Parts, (*Parts).fields)
	f.Text("role", &m.Role)
	f.Text("shape", &m.Shape)
	f.Text("reason", &m.Reason)
	f.Bytes("usage", &m.Usage)
	f.Text("alias", &m.Alias)
	f.Flag("varies", &m.Varies)
	f.Flag("renamed", &m.Renamed)
	f.Flag("truncated", &m.Truncated)
	f.Flag("quiet", &m.Quiet)
	f.Flag("overtaken", &m.Overtaken)
	f.Flag("roles", &m.Roles)
	f.Flag("next", &m.Next)
	stored.Number(f, "wait", &m.Wait)
	f.Flag("superseded", &m.Superseded)
	f.Flag("resumed", &m.Resumed)
	f.Flag("nested", &m.Nested)
}

func assemblerFields(a *chunks.Assembler[CallState], f *stored.Fields) {
	stored.List(f, "calls", &a.Calls, callFields)
	stored.Number(f, "latest", &a.Latest)
	f.Flag("refused", &a.Refused)
	f.Texts("refused_at", &a.RefusedAt)
}

func (p *Parts) fields(f *stored.Fields) {
	stored.Number(f, "n", &p.N)
	f.Text("kind", &p.Kind)
	stored.Number(f, "wire", &p.Wire)
	stored.Number(f, "sent", &p.Sent)
	f.Bytes("held", &p.Held)
	stored.Number(f, "sent_at", &p.SentAt)
	stored.Object(f, "joiner", &p.Joiner, joinerFields)
	f.Flag("ended", &p.Ended)
}

func joinerFields(j *chunks.Joiner, f *stored.Fields) { stored.Number(f, "High", &j.High) }

func callFields(c *Call, f *stored.Fields) {
	f.Text("index", &c.Index)
	f.Text("id", &c.ID)
	f.Text("name", &c.Name)
	f.Bytes("text", &c.Text)
	if c.Rare == nil && f.Reads("kind", "parent", "weak") {
		c.Rare = new(chunks.Rare)
	}
	if r := c.Rare; r != nil {
		f.Text("kind", &r.Kind)
		f.Text("parent", &r.ParentCall)
		f.Text("weak", &r.Weak)
	}
	stored.Object(f, "joiner", &c.Joiner, joinerFields)
	f.Flag("provider", &c.Provider)
	f.Flag("final", &c.Final)
	f.Flag("object", &c.Object)
	f.Flag("hold", &c.Hold)
	f.Flag("sealed", &c.Sealed)
	stored.Number(f, "closed", &c.Closed)
	f.Flag("cut", &c.Cut)
	stored.Object(f, "state", &c.State, (*CallState).fields)
}

func (c *CallState) fields(f *stored.Fields) {
	f.Text("call", &c.Call)
	f.Text("status", (*string)(&c.Status))
	f.Text("id", &c.ID)
	stored.Number(f, "begun", &c.BeganAt)
	stored.Number(f, "expires", &c.Expires)
	stored.Number(f, "complete", &c.Complete)
	stored.Number(f, "deadline", &c.Deadline)
	stored.Number(f, "sent", &c.Sent)
	stored.Number(f, "sent_at", &c.SentAt)
	stored.Pointer(f, "result", &c.Result, (*Result).fields)
	stored.Number(f, "args", &c.Args)
	if c.Rare == nil && f.Reads("uid", "wait") {
		c.Rare = new(Rare)
	}
	if r := c.Rare; r != nil {
		f.Text("uid", &r.UID)
		f.Text("wait", &r.InterruptID)
	}
	f.Flag("synth", &c.Synth)
	f.Flag("usable", &c.Usable)
	f.Flag("started", &c.Started)
	f.Flag("reported", &c.Reported)
	stored.Number(f, "restated", &c.Restated)
	f.Flag("old", &c.Old)
}

func (r *Result) fields(f *stored.Fields) {
	f.Text("id", &r.ID)
	f.Text("name", &r.Name)
	f.Text("ns", &r.Namespace)
	f.Text("status", (*string)(&r.Status))
	f.Bytes("content", &r.Content)
	f.Text("others", (*string)(&r.Others))
}

func (m *Memory) fields(f *stored.Fields) {
	stored.List(f, "closed", &m.Closed, (*Closed).fields)
	f.Texts("messages", &m.Messages)
	stored.List(f, "orphans", &m.Orphans, (*Result).fields)
	stored.List(f, "muted", &m.Muted, (*Muted).fields)
	stored.List(f, "left", &m.Left, (*Left).fields)
	stored.Pointer(f, "answers", &m.Answers, (*Answers).fields)
	f.Flag("ended", &m.Ended)
	f.Flag("roles", &m.Roles)
	f.Flag("forgot", &m.Forgot)
}

func (a *Answers) fields(f *stored.Fields) { stored.List(f, "list", &a.List, (*Answered).fields) }

func (a *Answered) fields(f *stored.Fields) {
	f.Text("call", &a.Call)
	f.Text("id", &a.ID)
	f.Text("uid", &a.UID)
	f.Text("interrupt", &a.InterruptID)
	f.Text("decision", &a.Decision)
	f.Text("by", &a.By)
}

func (l *Left) fields(f *stored.Fields) {
	f.Text("ns", &l.Namespace)
	f.Text("id", &l.Message)
	stored.Number(f, "choice", &l.Choice)
	stored.Object(f, "parts", &l.Parts, (*Parts).fields)
}

func (c *Closed) fields(f *stored.Fields) {
	f.Text("call", &c.Call)
	f.Text("id", &c.ID)
	f.Text("name", &c.Name)
	f.Text("uid", &c.UID)
	f.Flag("synth", &c.Synth)
	f.Text("message", &c.Message)
	f.Text("ns", &c.Namespace)
	stored.Number(f, "choice", &c.Choice)
	f.Text("index", &c.Index)
	f.Text("run", &c.Run)
	stored.Number(f, "args", &c.Args)
	f.Text("real", &c.Real)
	f.Text("others", (*string)(&c.Others))
	f.Text("task", &c.Task)
	f.Flag("child", &c.Child)
	f.Flag("began", &c.Began)
	f.Flag("reported", &c.Reported)
}

func (m *Muted) fields(f *stored.Fields) {
	f.Text("ns", &m.Namespace)
	f.Text("id", &m.Message)
	stored.Number(f, "last", &m.Last)
}

func (h *Human) fields(f *stored.Fields) {
	f.Text("ns", &h.Namespace)
	f.Text("id", &h.ID)
	stored.Number(f, "sent", &h.Sent)
	stored.Object(f, "joiner", &h.Joiner, joinerFields)
}
