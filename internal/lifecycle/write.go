package lifecycle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// AppendJSON appends the stored form of the state, as encoding/json writes it without
// escapes for HTML. Every snapshot needs it, and reflection takes three times as long.
// Only the values that few sessions have are left to encoding/json.
func (s *State) AppendJSON(dst []byte) ([]byte, error) {
	w := writer{events.Members{B: append(dst, '{')}}
	w.time("time", s.Time)
	w.time("last", s.Last)
	if s.Run != nil {
		w.run(s.Run)
	}
	w.Text("last_run", s.LastRun)
	w.uint("turn", uint64(s.Turn))
	w.uint("ids", uint64(s.IDs))
	w.uint("first", s.First)
	list(&w, "messages", s.Messages, func(m **Message) { w.message(*m) })
	w.memory(&s.Memory)
	if s.Human != nil {
		w.other("human", s.Human)
	}
	return append(w.B, '}'), w.Err
}

func (w *writer) run(r *Run) {
	before := w.open("run")
	w.Always("id", r.ID)
	if r.Asked != nil {
		w.other("asked", r.Asked)
	}
	w.Text("detail", r.Detail)
	w.Flag("failed", r.Failed)
	w.Flag("explicit", r.Explicit)
	w.Flag("rests", r.Rests)
	w.close(before)
}

func (w *writer) message(m *Message) {
	w.Text("ns", m.Namespace)
	w.Text("id", m.ID)
	w.int("choice", m.Choice)
	w.uint("phase", uint64(m.Phase))
	w.assembler(&m.Assembler)
	w.Always("run", m.Run)
	w.parts(&m.Parts)
	w.Text("role", m.Role)
	w.Text("shape", m.Shape)
	w.Text("reason", m.Reason)
	w.bytes("usage", m.Usage)
	w.Text("alias", m.Alias)
	w.Flag("varies", m.Varies)
	w.Flag("renamed", m.Renamed)
	w.Flag("truncated", m.Truncated)
	w.Flag("quiet", m.Quiet)
	w.Flag("overtaken", m.Overtaken)
	w.Flag("roles", m.Roles)
	w.Flag("next", m.Next)
	w.uint("wait", uint64(m.Wait))
	w.Flag("superseded", m.Superseded)
	w.Flag("nested", m.Nested)
}

func (w *writer) assembler(a *chunks.Assembler[CallState]) {
	before := w.open("calls")
	list(w, "calls", a.Calls, w.call)
	w.int("latest", a.Latest)
	w.Flag("refused", a.Refused)
	w.texts("refused_at", a.RefusedAt)
	w.close(before)
}

func (w *writer) parts(p *Parts) {
	before := w.open("parts")
	w.int("n", p.N)
	w.Text("kind", p.Kind)
	w.int("wire", p.Wire)
	w.int("sent", p.Sent)
	w.bytes("held", p.Held)
	w.time("sent_at", p.SentAt)
	w.joiner(p.Joiner)
	w.close(before)
}

func (w *writer) call(c *Call) {
	w.Text("index", c.Index)
	w.Text("id", c.ID)
	w.Text("name", c.Name)
	w.bytes("text", c.Text)
	if r := c.Rare; r != nil {
		w.Text("kind", r.Kind)
		w.Text("parent", r.ParentCall)
		w.Text("weak", r.Weak)
	}
	w.joiner(c.Joiner)
	w.Flag("provider", c.Provider)
	w.Flag("final", c.Final)
	w.Flag("object", c.Object)
	w.Flag("hold", c.Hold)
	w.Flag("sealed", c.Sealed)
	w.uint("closed", uint64(c.Closed))
	w.Flag("cut", c.Cut)
	if c.State != (CallState{}) {
		w.callState(&c.State)
	}
}

func (w *writer) callState(c *CallState) {
	before := w.open("state")
	w.Always("call", c.Call)
	w.Always("status", string(c.Status))
	w.Text("id", c.ID)
	w.Time("begun", c.Begun)
	w.time("expires", c.Expires)
	w.time("complete", c.Complete)
	w.time("deadline", c.Deadline)
	w.int("sent", c.Sent)
	w.time("sent_at", c.SentAt)
	if c.Result != nil {
		w.other("result", c.Result)
	}
	w.uint("args", c.Args)
	if r := c.Rare; r != nil {
		w.Text("uid", r.UID)
		w.Text("wait", r.InterruptID)
	}
	w.Flag("synth", c.Synth)
	w.Flag("usable", c.Usable)
	w.Flag("started", c.Started)
	w.Flag("reported", c.Reported)
	w.Flag("old", c.Old)
	w.close(before)
}

func (w *writer) memory(m *Memory) {
	before := w.open("memory")
	list(w, "closed", m.Closed, w.closed)
	w.texts("messages", m.Messages)
	if len(m.Orphans) > 0 {
		w.other("orphans", m.Orphans)
	}
	if len(m.Muted) > 0 {
		w.other("muted", m.Muted)
	}
	w.close(before)
}

func (w *writer) closed(c *Closed) {
	w.Text("call", c.Call)
	w.Always("id", c.ID)
	w.Text("name", c.Name)
	w.Text("uid", c.UID)
	w.Flag("synth", c.Synth)
	w.Text("message", c.Message)
	w.Text("ns", c.Namespace)
	w.int("choice", c.Choice)
	w.Text("index", c.Index)
	w.Text("run", c.Run)
	w.uint("args", c.Args)
	w.Text("real", c.Real)
	w.Text("others", string(c.Others))
	w.Text("task", c.Task)
	w.Flag("child", c.Child)
}

// writer appends the fields of JSON objects. Its methods leave out a field without a
// value.
type writer struct{ events.Members }

// open begins an object, which close ends.
func (w *writer) open(k string) (before int) {
	before = len(w.B)
	w.Key(k)
	w.B = append(w.B, '{')
	return before
}

// close ends an object, or leaves it out if it has no fields.
func (w *writer) close(before int) {
	if w.B[len(w.B)-1] == '{' {
		w.B = w.B[:before]
		return
	}
	w.B = append(w.B, '}')
}

func (w *writer) bytes(k string, v []byte) {
	if len(v) > 0 {
		w.Key(k)
		w.B = append(base64.StdEncoding.AppendEncode(append(w.B, '"'), v), '"')
	}
}

func (w *writer) int(k string, v int) {
	if v != 0 {
		w.Number(k, int64(v))
	}
}

func (w *writer) uint(k string, v uint64) {
	if v != 0 {
		w.Key(k)
		w.B = strconv.AppendUint(w.B, v, 10)
	}
}

func (w *writer) time(k string, v events.Time) {
	if v != 0 {
		w.Time(k, v)
	}
}

func (w *writer) joiner(j chunks.Joiner) {
	if j.High != 0 {
		w.other("joiner", j)
	}
}

func (w *writer) texts(k string, v []string) {
	if len(v) > 0 {
		w.List(k, v)
	}
}

// list appends a list of objects, whose fields each appends.
func list[T any](w *writer, k string, v []T, each func(*T)) {
	if len(v) == 0 {
		return
	}
	w.Key(k)
	for i := range v {
		w.B = append(w.B, "[,"[min(i, 1)], '{')
		each(&v[i])
		w.B = append(w.B, '}')
	}
	w.B = append(w.B, ']')
}

// other appends a value that few sessions have.
func (w *writer) other(k string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		w.Fail(fmt.Errorf("lifecycle: write state: %s: %w", k, err))
		return
	}
	w.Key(k)
	w.B = append(w.B, data...)
}
