package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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
	w := writer{b: append(dst, '{')}
	w.subject(e)
	w.content(e)
	w.waiting(e)
	w.outcome(e)
	w.b = append(w.b, '}')
	if w.err != nil {
		return nil, fmt.Errorf("events: %s %s: %w", e.Type, e.EventID, w.err)
	}
	return w.b, nil
}

func (w *writer) subject(e *Event) {
	w.always("type", string(e.Type))
	w.id("event_id", e.EventID)
	w.always("session", e.Session)
	w.text("run", e.Run)
	if e.Place != nil {
		w.always("message_id", e.MessageID)
		w.always("namespace", e.Namespace)
		w.number("choice", int64(e.Choice))
	}
	w.raw("index", e.Index)
	w.text("call", e.Call)
	w.text("id", e.ID)
	w.flag("id_synthesized", e.IDSynthesized)
	w.text("uid", e.UID)
	w.text("tool_name", e.ToolName)
	w.text("kind", e.Kind)
	w.time("timestamp", &e.Timestamp)
	w.text("role", e.Role)
	w.text("parent_call", e.ParentCall)
	w.flag("provider_executed", e.ProviderExecuted)
	w.time("deadline", e.Deadline)
}

func (w *writer) content(e *Event) {
	if e.Part != 0 {
		w.number("part", int64(e.Part))
	}
	if e.Offset != 0 {
		w.number("offset", int64(e.Offset.Bytes()))
	}
	w.text("content", e.Content)
	w.text("args", e.Args)
	if e.ArgsText != nil {
		w.always("args_text", *e.ArgsText)
	}
	w.raw("tool_args", e.ToolArgs)
	w.answer("args_valid", e.ArgsValid)
	w.text("args_error", e.ArgsError)
	w.flag("double_encoded", e.DoubleEncoded)
	w.text("by", e.By)
	w.ref("args_ref", e.ArgsRef)
}

func (w *writer) waiting(e *Event) {
	w.text("interrupt_id", e.InterruptID)
	w.raw("request", e.Request)
	w.text("decision", e.Decision)
	w.raw("value", e.Value)
	w.text("message", e.Progress)
	if e.Percent != nil {
		b, err := json.Marshal(*e.Percent)
		w.fail(err)
		w.key("percent")
		w.b = append(w.b, b...)
	}
}

func (w *writer) outcome(e *Event) {
	w.text("status", string(e.Status))
	w.flag("synthetic", e.Synthetic)
	w.reason("reason", e.Reason)
	w.raw("tool_result", e.ToolResult)
	w.ref("tool_result_ref", e.ToolResultRef)
	w.flag("conflict", e.Conflict)
	w.text("tool_state", e.ToolState)
	w.answer("args_complete", e.ArgsAnnounced)
	w.count("duration_ms", e.DurationMS)
	w.count("args_ms", e.ArgsMS)
	w.count("run_ms", e.RunMS)
	w.text("finish_reason", e.FinishReason)
	w.raw("usage", e.Usage)
	w.flag("superseded", e.Superseded)
	w.list("pending", e.Pending)
	w.count("closed", e.Closed)
	w.list("calls", e.Calls)
	w.target("target", e.Target)
	if e.Input != 0 {
		w.key("input")
		w.b = strconv.AppendUint(w.b, e.Input, 10)
	}
	w.object("binding", e.Binding != nil, func() {
		if e.Binding.CallsOut != nil {
			w.key("calls_out")
			w.array(e.Binding.CallsOut)
		}
		w.count("requests_answered", e.Binding.RequestsAnswered)
		w.text("process", e.Binding.Process)
	})
}

func (w *writer) id(name string, id ID) {
	w.key(name)
	w.b = append(w.b, '"')
	w.b = id.Append(w.b)
	w.b = append(w.b, '"')
}

func (w *writer) count(name string, n *int64) {
	if n != nil {
		w.number(name, *n)
	}
}

func (w *writer) answer(name string, yes *bool) {
	if yes != nil {
		w.key(name)
		w.b = strconv.AppendBool(w.b, *yes)
	}
}

// raw writes a value that is JSON already, without its white space.
func (w *writer) raw(name string, value json.RawMessage) {
	if len(value) == 0 {
		return
	}
	w.key(name)
	if len(value) == 1 && '0' <= value[0] && value[0] <= '9' { // the common case of an index
		w.b = append(w.b, value[0])
		return
	}
	b := bytes.NewBuffer(w.b)
	w.fail(json.Compact(b, value))
	w.b = b.Bytes()
}

func (w *writer) reason(name string, r *Reason) {
	w.object(name, r != nil, func() {
		w.always("code", string(r.Code))
		w.always("text", r.Text)
		w.text("detail", r.Detail)
	})
}

func (w *writer) target(name string, t *Target) {
	w.object(name, t != nil, func() {
		w.list("tool_call_ids", t.ToolCallIDs)
		w.list("calls", t.Calls)
		w.text("message_id", t.MessageID)
		w.text("run", t.Run)
		w.text("namespace", t.Namespace)
		w.text("interrupt_id", t.InterruptID)
		if t.More != 0 {
			w.number("more", int64(t.More))
		}
	})
}

func (w *writer) ref(name string, r *Ref) {
	w.object(name, r != nil, func() {
		w.number("size", int64(r.Size))
		w.always("sha256", r.SHA256)
		w.always("preview", r.Preview)
		w.key("chunks")
		if r.Chunks == nil {
			w.b = append(w.b, "null"...)
		} else {
			w.array(r.Chunks)
		}
	})
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
	if i := strings.IndexByte("\"\\\b\f\n\r\t", b); i >= 0 {
		return append(dst, '\\', `"\bfnrt`[i])
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&0xf])
}
