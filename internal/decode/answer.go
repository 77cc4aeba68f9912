package decode

import (
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// AnswerBody is the answer of a person to calls that wait. It names a call, or the
// interrupt for which calls wait, or both.
type AnswerBody struct {
	ToolCallID  string
	Call        string
	InterruptID string
	Decision    string // approve, deny, edit or reply
	Args        string // of edit: the JSON object that replaces the args; else ""
	Value       string // JSON of what the person said, "" if nothing
	Text        string // the value where it is a string
	By          string // the person
}

// Answer reads an answer:
//
//	{"call"|"tool_call_id"|"interrupt_id","decision","args"?,"value"?,"by"?}
//
// An edit needs args, a reply needs a value. A field that is unknown or repeated, and a
// name that is null or empty, is a Problem.
func Answer(data []byte) (AnswerBody, *wire.Problem) {
	b := newBody()
	var a AnswerBody
	v := b.Open(data, "answer", false)
	b.only(v, "answer", "call", "tool_call_id", "interrupt_id", "decision", "args", "value", "by")
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "call":
			a.Call = b.target(m.Key, m.Value)
		case "tool_call_id":
			a.ToolCallID = b.target(m.Key, m.Value)
		case "interrupt_id":
			a.InterruptID = b.target(m.Key, m.Value)
		case "decision":
			a.Decision = b.word(m.Key, m.Value)
		case "args":
			a.Args = m.Value.Raw
			if !m.Value.IsObject() {
				b.Fail(wire.WrongType("args", m.Value, "an object"))
			}
		case "value":
			if a.Value = present(m.Value); m.Value.IsString() {
				a.Text = b.Writer.Text(m.Value)
			}
		case "by":
			a.By = b.word(m.Key, m.Value)
		}
	}
	b.OneOf("decision", a.Decision, "approve", "deny", "edit", "reply")
	switch {
	case a.Call == "" && a.ToolCallID == "" && a.InterruptID == "":
		b.Fail(wire.WrongShape("the answer names no call: call, tool_call_id and interrupt_id are missing"))
	case (a.Args != "") != (a.Decision == "edit"):
		b.Fail(wire.WrongShape("args and the decision edit belong together"))
	case a.Value == "" && a.Decision == "reply":
		b.Fail(wire.WrongShape("a reply needs a value"))
	}
	if b.Problem != nil {
		return AnswerBody{}, b.Problem
	}
	return a, nil
}

// present returns the JSON of a value, "" for null.
func present(v jsonscan.Value) string {
	if v.Kind == jsonscan.Null {
		return ""
	}
	return v.Raw
}
