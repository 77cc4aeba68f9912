package decode

import (
	"fmt"
	"strconv"
	"time"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Progress reads {"tool_call_id","call"?,"message"?,"percent"?}: a tool is
// alive. Either tool_call_id or call must be there, and percent is a number from
// 0 to 100.
func Progress(data []byte) (chunks.Chunk, *Problem) {
	b := body{r: new(Reader)}
	v := b.open(data, "progress", false)
	c := b.progress(v)
	if c.ID == "" && c.Call == "" {
		fields := []string{"tool_call_id", "call", "message", "percent"}
		text := noTarget
		if unknown, ok := stray(v, fields); ok {
			text += "; " + noField("progress", unknown, fields)
		}
		b.fail(&Problem{Code: BadShape, Text: text})
	}
	if c.HasPercent && (c.Percent < 0 || c.Percent > 100) {
		b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("percent is %v, not a number from 0 to 100", c.Percent)})
	}
	return c, b.problem
}

const noTarget = "the progress names no call: tool_call_id is missing or empty"

// progress reads the members of a progress.
func (b *body) progress(v gjson.Result) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Progress}
	for m := members(v); m.next(); {
		switch m.key {
		case "tool_call_id":
			c.ID = b.text(m.key, m.value)
		case "call":
			c.Call = b.text(m.key, m.value)
		case "message":
			c.Text = b.text(m.key, m.value)
		case "percent":
			c.Percent, c.HasPercent = b.number(m.key, m.value)
		}
	}
	return c
}

// number gives a member that is a number, and whether it is there.
func (b *body) number(field string, v gjson.Result) (float64, bool) {
	if !present(v) {
		return 0, false
	}
	if v.Type != gjson.Number {
		b.fail(wrongType(field, v, "a number"))
		return 0, false
	}
	n, err := strconv.ParseFloat(v.Raw, 64)
	if err != nil {
		b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("%s is %s, which is no usable number", field, clip(v.Raw))})
		return 0, false
	}
	return n, true
}

// InterruptBody is the content of an interrupt: it closes what it names, and
// everything where it names nothing.
type InterruptBody struct {
	Reason       string
	ToolCallIDs  []string
	Calls        []string
	MessageID    string
	HasMessageID bool // InterruptV1 reads "" as the message of a wire without ids
	Run          string
}

// Interrupt reads an interrupt:
//
//	{"reason"?,"tool_call_ids"?,"tool_call_id"?,"calls"?,"call"?,"message_id"?,"run"?}
//
// The singular of a list is a list of one. Only an empty body, {} and a lone
// reason close everything. A target that is null or empty, and a field that is
// unknown or stands twice, is a Problem: the sender meant to name something.
func Interrupt(data []byte) (InterruptBody, *Problem) {
	b := body{r: new(Reader)}
	var in InterruptBody
	v := b.open(data, "interrupt", true)
	b.only(v, "interrupt", "reason", "tool_call_ids", "tool_call_id", "calls", "call", "message_id", "run")
	for m := members(v); m.next(); {
		switch m.key {
		case "reason":
			in.Reason = b.word(m.key, m.value)
		case "tool_call_ids":
			in.ToolCallIDs = append(in.ToolCallIDs, b.targets(m.key, m.value)...)
		case "tool_call_id":
			in.ToolCallIDs = append(in.ToolCallIDs, b.target(m.key, m.value))
		case "calls":
			in.Calls = append(in.Calls, b.targets(m.key, m.value)...)
		case "call":
			in.Calls = append(in.Calls, b.target(m.key, m.value))
		case "message_id":
			in.MessageID, in.HasMessageID = b.target(m.key, m.value), true
		case "run":
			in.Run = b.target(m.key, m.value)
		}
	}
	if b.problem != nil {
		return InterruptBody{}, b.problem
	}
	return in, nil
}

// End reads {"reason"?: "completed","error","cancelled"}: the run is over.
// Without a reason, or a body, it has completed. Other fields and other reasons
// are a Problem.
func End(data []byte) (string, *Problem) {
	b := body{r: new(Reader)}
	v := b.open(data, "end", true)
	b.only(v, "end", "reason")
	reason := "completed"
	for m := members(v); m.next(); {
		if m.key == "reason" {
			reason = b.word(m.key, m.value)
		}
	}
	return b.oneOf("reason", reason, "completed", "error", "cancelled"), b.problem
}

// Tick is a clock input.
type Tick struct {
	Kind string // deadline, flush or run_idle
	Call string // whose deadline
	At   int64  // the deadline, in milliseconds since the Unix epoch; 0 where it is not said
}

// Clock reads {"kind":"deadline","call","at"?}, {"kind":"flush"} or
// {"kind":"run_idle"}. The time is RFC 3339, or milliseconds since the epoch.
func Clock(data []byte) (Tick, *Problem) {
	b := body{r: new(Reader)}
	var t Tick
	for m := members(b.open(data, "clock", false)); m.next(); {
		switch m.key {
		case "kind":
			t.Kind = b.text(m.key, m.value)
		case "call":
			t.Call = b.text(m.key, m.value)
		case "at":
			t.At = b.moment(m.key, m.value)
		}
	}
	b.oneOf("kind", t.Kind, "deadline", "flush", "run_idle")
	if t.Kind == "deadline" && t.Call == "" {
		b.fail(&Problem{Code: BadShape, Text: "a deadline names its call: call is missing or empty"})
	}
	return t, b.problem
}

// moment gives a point in time in milliseconds since the epoch.
func (b *body) moment(field string, v gjson.Result) int64 {
	switch {
	case !present(v):
		return 0
	case v.Type == gjson.Number:
		ms, err := strconv.ParseInt(v.Raw, 10, 64)
		if err == nil {
			return ms
		}
	case v.Type == gjson.String:
		at, err := time.Parse(time.RFC3339Nano, b.r.text(v))
		if err == nil {
			return at.UnixMilli()
		}
	}
	b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("%s is %s, neither RFC 3339 nor milliseconds", field, clip(v.Raw))})
	return 0
}
