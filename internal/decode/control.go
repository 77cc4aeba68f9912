package decode

import (
	"strconv"
	"time"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Progress reads the progress of a tool:
// {"tool_call_id","call"?,"message"?,"percent"?}. Either tool_call_id or call is
// required. Percent is a number from 0 to 100.
func Progress(data []byte) (chunks.Chunk, *wire.Problem) {
	b := newBody()
	v := b.Open(data, "progress", false)
	c := b.progress(v)
	if c.ID == "" && c.Call == "" {
		fields := []string{"tool_call_id", "call", "message", "percent"}
		text := "the progress names no call: tool_call_id is missing or empty"
		if unknown, ok := stray(v, fields); ok {
			text += "; " + noField("progress", unknown, fields)
		}
		b.Fail(&wire.Problem{Code: wire.BadShape, Text: text})
	}
	if c.HasPercent && (c.Percent < 0 || c.Percent > 100) {
		b.Fail(wire.WrongShape("percent is %v, not a number from 0 to 100", c.Percent))
	}
	return c, b.Problem
}

func (b *body) progress(v jsonscan.Value) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Progress}
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "tool_call_id":
			c.ID = b.Text(m.Key, m.Value)
		case "call":
			c.Call = b.Text(m.Key, m.Value)
		case "message":
			c.Text = b.Text(m.Key, m.Value)
		case "percent":
			c.Percent, c.HasPercent = b.number(m.Key, m.Value)
		}
	}
	return c
}

func (b *body) number(field string, v jsonscan.Value) (float64, bool) {
	if !v.Present() {
		return 0, false
	}
	if v.Kind != jsonscan.Number {
		b.Fail(wire.WrongType(field, v, "a number"))
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Raw, 64)
	if err != nil {
		b.Fail(wire.WrongShape("%s is %s, which is no usable number", field, wire.Clip(v.Raw)))
		return 0, false
	}
	return n, true
}

// InterruptBody is the content of an interrupt. It closes the calls, the message or
// the run that it names, and everything if it names nothing.
type InterruptBody struct {
	Reason      string
	ToolCallIDs []string
	Calls       []string
	MessageID   string
	Run         string
	Namespace   string
	// Of is the sequence of an earlier interrupt, whose Binding this one states; 0 for others.
	Of      uint64
	Binding Binding
}

// Binding is what a tap has seen of what an interrupt stopped.
type Binding struct {
	CallsOut []string // nil if none was looked for
	Answered *int64   // requests that were answered without the model
	Process  string   // running or ended
}

// Interrupt reads an interrupt:
//
//	{"reason"?,"tool_call_ids"?,"tool_call_id"?,"calls"?,"call"?,"message_id"?,"run"?,"namespace"?}
//	{"of","binding":{"calls_out"?,"requests_answered"?,"process"?}}
//
// A singular field is a list of one. Only an empty body, {} and a body with a reason
// alone close everything. A target that is null or empty, and a field that is unknown
// or repeated, is a Problem, because the sender intended to name a target.
func Interrupt(data []byte) (InterruptBody, *wire.Problem) {
	b := newBody()
	var in InterruptBody
	v := b.Open(data, "interrupt", true)
	if v.Member("of").Present() {
		b.only(v, "interrupt", "of", "binding")
		in.Of, in.Binding = b.positive("of", v.Member("of")), b.binding(v.Member("binding"))
	} else {
		b.interrupt(v, &in)
	}
	if b.Problem != nil {
		return InterruptBody{}, b.Problem
	}
	return in, nil
}

func (b *body) interrupt(v jsonscan.Value, in *InterruptBody) {
	b.only(v, "interrupt", "reason", "tool_call_ids", "tool_call_id", "calls", "call", "message_id", "run", "namespace")
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "reason":
			in.Reason = b.word(m.Key, m.Value)
		case "tool_call_ids":
			in.ToolCallIDs = append(in.ToolCallIDs, b.targets(m.Key, m.Value)...)
		case "tool_call_id":
			in.ToolCallIDs = append(in.ToolCallIDs, b.target(m.Key, m.Value))
		case "calls":
			in.Calls = append(in.Calls, b.targets(m.Key, m.Value)...)
		case "call":
			in.Calls = append(in.Calls, b.target(m.Key, m.Value))
		case "message_id":
			in.MessageID = b.target(m.Key, m.Value)
		case "run":
			in.Run = b.target(m.Key, m.Value)
		case "namespace":
			in.Namespace = b.target(m.Key, m.Value)
		}
	}
}

// positive returns a member that is a positive integer.
func (b *body) positive(field string, v jsonscan.Value) uint64 {
	n, err := strconv.ParseUint(v.Raw, 10, 63)
	if err != nil || n == 0 {
		b.Fail(wire.WrongShape("%s is %s, not a positive integer", field, wire.Clip(v.Raw)))
	}
	return n
}

func (b *body) binding(v jsonscan.Value) (in Binding) {
	if !v.IsObject() {
		b.Fail(wire.WrongType("binding", v, "an object"))
		return in
	}
	b.only(v, "binding", "calls_out", "requests_answered", "process")
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "calls_out":
			if in.CallsOut = []string{}; len(m.Value.Raw) > 2 {
				in.CallsOut = b.targets(m.Key, m.Value)
			}
		case "requests_answered":
			n := int64(b.positive(m.Key, m.Value)) //nolint:gosec // of 63 bits
			in.Answered = &n
		case "process":
			in.Process = b.OneOf(m.Key, b.word(m.Key, m.Value), "running", "ended")
		}
	}
	return in
}

// Resume reads what lifts the stops of a session, and returns the person or cause: {"by"?}.
func Resume(data []byte) (by string, problem *wire.Problem) {
	b := newBody()
	v := b.Open(data, "resume", true)
	b.only(v, "resume", "by")
	if m := v.Member("by"); m.Raw != "" {
		by = b.word("by", m)
	}
	return by, b.Problem
}

// End reads the end of a run: {"reason"?: "completed","error","cancelled"}. Without a
// reason, or a body, the run has completed. Other fields and other reasons are a
// Problem.
func End(data []byte) (string, *wire.Problem) {
	b := newBody()
	v := b.Open(data, "end", true)
	b.only(v, "end", "reason")
	reason := "completed"
	for m := v.Members(); m.Next(); {
		if m.Key == "reason" {
			reason = b.word(m.Key, m.Value)
		}
	}
	return b.OneOf("reason", reason, "completed", "error", "cancelled"), b.Problem
}

// Tick is a clock input.
type Tick struct {
	Kind string // deadline, flush or run_idle
	Call string // the call of the deadline
	At   int64  // when it is due, in milliseconds since the Unix epoch; 0 if the input does not have it
	// Elapsed: the time of the session has reached At by a clock that is never set.
	Elapsed bool
	// Until is the stored time after which the input does not count; 0: it always does.
	Until int64
	// Ended: the stream has ended, so a flush waits for nothing.
	Ended bool
	// Cut: nothing continues an event that was cut, and nothing else is flushed.
	Cut bool
}

// Clock reads {"kind":"deadline","call","at"?}, {"kind":"flush","ended"?,"cut"?} or
// {"kind":"run_idle"}, each with "elapsed"? and "until"?. A time is RFC 3339, or
// milliseconds since the epoch.
func Clock(data []byte) (Tick, *wire.Problem) {
	b := newBody()
	var t Tick
	for m := b.Open(data, "clock", false).Members(); m.Next(); {
		switch m.Key {
		case "kind":
			t.Kind = b.Text(m.Key, m.Value)
		case "call":
			t.Call = b.Text(m.Key, m.Value)
		case "at":
			t.At = b.moment(m.Key, m.Value)
		case "until":
			t.Until = b.moment(m.Key, m.Value)
		case "elapsed":
			t.Elapsed = m.Value.Kind == jsonscan.True
		case "ended":
			t.Ended = m.Value.Kind == jsonscan.True
		case "cut":
			t.Cut = m.Value.Kind == jsonscan.True
		}
	}
	b.OneOf("kind", t.Kind, "deadline", "flush", "run_idle")
	if t.Kind == "deadline" && t.Call == "" {
		b.Fail(wire.WrongShape("a deadline names its call: call is missing or empty"))
	}
	return t, b.Problem
}

// moment returns a time in milliseconds since the epoch.
func (b *body) moment(field string, v jsonscan.Value) int64 {
	switch {
	case !v.Present():
		return 0
	case v.Kind == jsonscan.Number:
		ms, err := strconv.ParseInt(v.Raw, 10, 64)
		if err == nil {
			return ms
		}
	case v.IsString():
		at, err := time.Parse(time.RFC3339Nano, b.Writer.Text(v))
		if err == nil {
			return at.UnixMilli()
		}
	}
	b.Fail(wire.WrongShape("%s is %s, neither RFC 3339 nor milliseconds", field, wire.Clip(v.Raw)))
	return 0
}
