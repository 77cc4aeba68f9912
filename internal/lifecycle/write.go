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
	w := writer{b: append(dst, '{')}
	w.time("time", s.Time)
	w.time("last", s.Last)
	if s.Run != nil {
		w.run(s.Run)
	}
	w.text("last_run", s.LastRun)
	w.uint("turn", uint64(s.Turn))
	w.uint("ids", uint64(s.IDs))
	w.uint("first", s.First)
	list(&w, "messages", s.Messages, func(m **Message) { w.message(*m) })
	w.memory(&s.Memory)
	if s.Human != nil {
		w.other("human", s.Human)
	}
	return append(w.b, '}'), w.err
}

func (w *writer) run(r *Run) {
	w.open("run")
	w.always("id", r.ID)
	if r.Asked != nil {
		w.other("asked", r.Asked)
	}
	w.text("detail", r.Detail)
	w.flag("failed", r.Failed)
	w.flag("explicit", r.Explicit)
	w.flag("rests", r.Rests)
	w.b = append(w.b, '}')
}

func (w *writer) message(m *Message) {
	w.text("ns", m.Namespace)
	w.text("id", m.ID)
	w.int("choice", m.Choice)
	w.uint("phase", uint64(m.Phase))
	if a := &m.Assembler; a.Calls != nil || a.Latest != 0 || a.Refused || a.RefusedAt != nil {
		w.open("calls")
		list(w, "calls", a.Calls, w.call)
		w.int("latest", a.Latest)
		w.flag("refused", a.Refused)
		w.texts("refused_at", a.RefusedAt)
		w.b = append(w.b, '}')
	}
	w.always("run", m.Run)
	w.parts(&m.Parts)
	w.text("role", m.Role)
	w.text("shape", m.Shape)
	w.text("reason", m.Reason)
	w.bytes("usage", m.Usage)
	w.text("alias", m.Alias)
	w.flag("varies", m.Varies)
	w.flag("renamed", m.Renamed)
	w.flag("truncated", m.Truncated)
	w.flag("quiet", m.Quiet)
	w.flag("overtaken", m.Overtaken)
	w.flag("roles", m.Roles)
	w.flag("next", m.Next)
	w.uint("wait", uint64(m.Wait))
	w.flag("superseded", m.Superseded)
	w.flag("nested", m.Nested)
}

func (w *writer) parts(p *Parts) {
	if p.N == 0 && p.Kind == "" && p.Wire == 0 && p.Sent == 0 && p.Held == nil && p.SentAt == 0 && p.Joiner.High == 0 {
		return
	}
	w.open("parts")
	w.int("n", p.N)
	w.text("kind", p.Kind)
	w.int("wire", p.Wire)
	w.int("sent", p.Sent)
	w.bytes("held", p.Held)
	w.time("sent_at", p.SentAt)
	w.joiner(p.Joiner)
	w.b = append(w.b, '}')
}

func (w *writer) call(c *Call) {
	w.text("index", c.Index)
	w.text("id", c.ID)
	w.text("name", c.Name)
	w.bytes("text", c.Text)
	if r := c.Rare; r != nil {
		w.text("kind", r.Kind)
		w.text("parent", r.ParentCall)
		w.text("weak", r.Weak)
	}
	w.joiner(c.Joiner)
	w.flag("provider", c.Provider)
	w.flag("final", c.Final)
	w.flag("object", c.Object)
	w.flag("hold", c.Hold)
	w.flag("sealed", c.Sealed)
	w.uint("closed", uint64(c.Closed))
	w.flag("cut", c.Cut)
	if c.State != (CallState{}) {
		w.callState(&c.State)
	}
}

func (w *writer) callState(c *CallState) {
	w.open("state")
	w.always("call", c.Call)
	w.always("status", string(c.Status))
	w.text("id", c.ID)
	w.at("begun", c.Begun)
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
		w.text("uid", r.UID)
		w.text("wait", r.InterruptID)
	}
	w.flag("synth", c.Synth)
	w.flag("usable", c.Usable)
	w.flag("started", c.Started)
	w.flag("reported", c.Reported)
	w.flag("old", c.Old)
	w.b = append(w.b, '}')
}

func (w *writer) memory(m *Memory) {
	if m.Closed == nil && m.Messages == nil && m.Orphans == nil && m.Muted == nil {
		return
	}
	w.open("memory")
	list(w, "closed", m.Closed, w.closed)
	w.texts("messages", m.Messages)
	if len(m.Orphans) > 0 {
		w.other("orphans", m.Orphans)
	}
	if len(m.Muted) > 0 {
		w.other("muted", m.Muted)
	}
	w.b = append(w.b, '}')
}

func (w *writer) closed(c *Closed) {
	w.text("call", c.Call)
	w.always("id", c.ID)
	w.text("name", c.Name)
	w.text("uid", c.UID)
	w.flag("synth", c.Synth)
	w.text("message", c.Message)
	w.text("ns", c.Namespace)
	w.int("choice", c.Choice)
	w.text("index", c.Index)
	w.text("run", c.Run)
	w.uint("args", c.Args)
	w.text("real", c.Real)
	w.text("others", string(c.Others))
	w.text("task", c.Task)
	w.flag("child", c.Child)
}

// writer appends the fields of JSON objects. Besides always and at, its methods leave
// out a field without a value.
type writer struct {
	b   []byte
	err error // of other
}

func (w *writer) key(k string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), k...), '"', ':')
}

// open begins an object.
func (w *writer) open(k string) {
	w.key(k)
	w.b = append(w.b, '{')
}

func (w *writer) always(k, v string) {
	w.key(k)
	w.b = events.AppendQuoted(w.b, v)
}

func (w *writer) text(k, v string) {
	if v != "" {
		w.always(k, v)
	}
}

func (w *writer) bytes(k string, v []byte) {
	if len(v) > 0 {
		w.key(k)
		w.b = append(base64.StdEncoding.AppendEncode(append(w.b, '"'), v), '"')
	}
}

func (w *writer) int(k string, v int) {
	if v != 0 {
		w.key(k)
		w.b = strconv.AppendInt(w.b, int64(v), 10)
	}
}

func (w *writer) uint(k string, v uint64) {
	if v != 0 {
		w.key(k)
		w.b = strconv.AppendUint(w.b, v, 10)
	}
}

func (w *writer) flag(k string, v bool) {
	if v {
		w.key(k)
		w.b = append(w.b, "true"...)
	}
}

func (w *writer) at(k string, v events.Time) {
	w.key(k)
	w.b = append(v.Append(append(w.b, '"')), '"')
}

func (w *writer) time(k string, v events.Time) {
	if v != 0 {
		w.at(k, v)
	}
}

func (w *writer) joiner(j chunks.Joiner) {
	if j.High != 0 {
		w.other("joiner", j)
	}
}

func (w *writer) texts(k string, v []string) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	for i, s := range v {
		w.b = events.AppendQuoted(append(w.b, "[,"[min(i, 1)]), s)
	}
	w.b = append(w.b, ']')
}

// list appends a list of objects, whose fields each appends.
func list[T any](w *writer, k string, v []T, each func(*T)) {
	if len(v) == 0 {
		return
	}
	w.key(k)
	for i := range v {
		w.b = append(w.b, "[,"[min(i, 1)], '{')
		each(&v[i])
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

// other appends a value that few sessions have.
func (w *writer) other(k string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		w.err = fmt.Errorf("lifecycle: write state: %s: %w", k, err)
		return
	}
	w.key(k)
	w.b = append(w.b, data...)
}
