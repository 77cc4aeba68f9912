package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Body returns the bytes that are stored in the event log: the event's JSON or,
// for a synthetic message, that message. It returns an error only if a field
// holds raw JSON that is invalid, or a percent that is not a finite number.
//
// The bytes are those of encoding/json without escapes for HTML, which takes
// several times as long.
func (e *Event) Body() ([]byte, error) {
	if e.Type == Synthetic {
		return e.Message, nil
	}
	size := 512 + len(e.Content) + len(e.Args) + len(e.ToolArgs) + len(e.ToolResult)
	if e.ArgsText != nil {
		size += len(*e.ArgsText)
	}
	return e.AppendBody(make([]byte, 0, size))
}

// AppendBody appends the bytes that Body returns to dst. The error is that of Body.
func (e *Event) AppendBody(dst []byte) ([]byte, error) {
	if e.Type == Synthetic {
		return append(dst, e.Message...), nil
	}
	w := writer{members{B: append(dst, '{')}}
	w.subject(e)
	w.content(e)
	w.waiting(e)
	w.outcome(e)
	w.B = append(w.B, '}')
	if w.Err != nil {
		return nil, fmt.Errorf("events: %s %s: %w", e.Type, e.EventID, w.Err)
	}
	return w.B, nil
}

func (w *writer) subject(e *Event) {
	w.Always("type", string(e.Type))
	w.id("event_id", e.EventID)
	w.Always("session", e.Session)
	w.Text("run", e.Run)
	if e.Place != nil {
		w.Always("message_id", e.MessageID)
		w.Always("namespace", e.Namespace)
		w.Number("choice", int64(e.Choice))
	}
	w.raw("index", e.Index)
	w.Text("call", e.Call)
	w.Text("id", e.ID)
	w.Flag("id_synthesized", e.IDSynthesized)
	w.Text("uid", e.UID)
	w.Text("tool_name", e.ToolName)
	w.Text("kind", e.Kind)
	w.time("timestamp", &e.Timestamp)
	w.Text("role", e.Role)
	w.Text("parent_call", e.ParentCall)
	w.Flag("provider_executed", e.ProviderExecuted)
	w.time("deadline", e.Deadline)
}

func (w *writer) content(e *Event) {
	if e.Part != 0 {
		w.Number("part", int64(e.Part))
	}
	if e.Offset != 0 {
		w.Number("offset", int64(e.Offset.Bytes()))
	}
	w.Text("content", e.Content)
	w.Text("args", e.Args)
	if e.ArgsText != nil {
		w.Always("args_text", *e.ArgsText)
	}
	w.raw("tool_args", e.ToolArgs)
	w.answer("args_valid", e.ArgsValid)
	w.Text("args_error", e.ArgsError)
	w.Flag("double_encoded", e.DoubleEncoded)
	w.Text("by", e.By)
	w.ref("args_ref", e.ArgsRef)
}

func (w *writer) waiting(e *Event) {
	w.Text("interrupt_id", e.InterruptID)
	w.Text("message", e.Progress)
	if e.Percent != nil {
		b, err := json.Marshal(*e.Percent)
		w.Fail(err)
		w.Key("percent")
		w.B = append(w.B, b...)
	}
}

func (w *writer) outcome(e *Event) {
	w.Text("status", string(e.Status))
	w.Flag("synthetic", e.Synthetic)
	w.reason("reason", e.Reason)
	w.raw("tool_result", e.ToolResult)
	w.ref("tool_result_ref", e.ToolResultRef)
	w.Flag("conflict", e.Conflict)
	w.answer("args_complete", e.ArgsAnnounced)
	w.count("duration_ms", e.DurationMS)
	w.count("args_ms", e.ArgsMS)
	w.count("run_ms", e.RunMS)
	w.Text("finish_reason", e.FinishReason)
	w.raw("usage", e.Usage)
	w.Flag("superseded", e.Superseded)
	if len(e.Pending) > 0 {
		w.List("pending", e.Pending)
	}
	w.count("closed", e.Closed)
	if len(e.Calls) > 0 {
		w.List("calls", e.Calls)
	}
	w.target("target", e.Target)
	if e.Input != 0 {
		w.Key("input")
		w.B = strconv.AppendUint(w.B, e.Input, 10)
	}
}

// writer appends the members of an event. Its methods are named after the kinds of
// values. All except id leave out empty values.
type writer struct{ members }

func (w *writer) id(name string, id ID) {
	w.Key(name)
	w.B = append(w.B, '"')
	w.B = id.Append(w.B)
	w.B = append(w.B, '"')
}

func (w *writer) count(name string, n *int64) {
	if n != nil {
		w.Number(name, *n)
	}
}

func (w *writer) answer(name string, yes *bool) {
	if yes != nil {
		w.Key(name)
		w.B = strconv.AppendBool(w.B, *yes)
	}
}

func (w *writer) time(name string, t *Time) {
	if t != nil {
		w.Time(name, *t)
	}
}

// raw writes a value that is JSON already, without its white space.
func (w *writer) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	w.Key(name)
	if len(value) == 1 && '0' <= value[0] && value[0] <= '9' { // the common case of an index
		w.B = append(w.B, value[0])
		return
	}
	b := bytes.NewBuffer(w.B)
	w.Fail(json.Compact(b, value))
	w.B = b.Bytes()
}

func (w *writer) reason(name string, r *Reason) {
	if r == nil {
		return
	}
	w.Key(name)
	w.B = append(w.B, '{')
	w.Always("code", string(r.Code))
	w.Always("text", r.Text)
	w.Text("detail", r.Detail)
	w.B = append(w.B, '}')
}

func (w *writer) target(name string, t *Target) {
	if t == nil {
		return
	}
	w.Key(name)
	w.B = append(w.B, '{')
	if len(t.ToolCallIDs) > 0 {
		w.List("tool_call_ids", t.ToolCallIDs)
	}
	if len(t.Calls) > 0 {
		w.List("calls", t.Calls)
	}
	w.Text("message_id", t.MessageID)
	w.Text("run", t.Run)
	if t.More != 0 {
		w.Number("more", int64(t.More))
	}
	w.B = append(w.B, '}')
}

func (w *writer) ref(name string, r *Ref) {
	if r == nil {
		return
	}
	w.Key(name)
	w.B = append(w.B, '{')
	w.Number("size", int64(r.Size))
	w.Always("sha256", r.SHA256)
	w.Always("preview", r.Preview)
	if r.Chunks != nil {
		w.List("chunks", r.Chunks)
	} else {
		w.Key("chunks")
		w.B = append(w.B, "null"...)
	}
	w.B = append(w.B, '}')
}

// Quote returns a string as JSON, without escapes for HTML.
func Quote(s string) json.RawMessage { return AppendQuoted(make([]byte, 0, len(s)+2), s) }

// AppendQuoted appends a string as JSON, as encoding/json does without escapes for HTML:
// it replaces bytes that are not UTF-8, and escapes the line terminators of
// JavaScript.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // of the bytes that are not appended yet
	for i := plainWords(s); i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			if b < ' ' || b == '"' || b == '\\' {
				dst = append(dst, s[start:i]...)
				dst = appendEscaped(dst, b)
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\ufffd`...)
			start = i + size
		case r == '\u2028', r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// plainWords returns the length of the first bytes of s that are ASCII and need no
// escape, rounded down to a multiple of 8. It checks 8 bytes at once.
func plainWords(s string) (n int) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; len(s)-n >= 8; n += 8 {
		b := s[n : n+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, slash := w^ones*'"', w^ones*'\\'
		// A byte that is one of these, below a space, or not ASCII sets a high bit.
		if ((quote-ones)|(slash-ones)|(w-ones*' ')|w)&high != 0 {
			break
		}
	}
	return n
}

const hexDigits = "0123456789abcdef"

func appendEscaped(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
}
