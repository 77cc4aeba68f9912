package events

import (
	"cmp"
	"slices"
	"strings"
)

// Code is the reason why a call was closed without a real result, why a run
// ended, or why an input was rejected.
type Code string

// Reasons for closing a call.
const (
	ByInterrupt     Code = "interrupt"
	ByNewMessage    Code = "new_message"
	ByRunError      Code = "run_error"
	ByRunCancelled  Code = "run_cancelled"
	BySuperseded    Code = "superseded"
	ByArgsTimeout   Code = "args_timeout"
	ByResultTimeout Code = "result_timeout"
	ByDenied        Code = "denied"          // by a person
	ByCut           Code = "args_incomplete" // the model was cut off in the args
	ByExpired       Code = "expired"
	ByLost          Code = "lost"
)

// Further reasons for the end of a run.
const (
	ByRunIdle Code = "run_idle"
)

// Reasons for rejecting an input.
const (
	BadJSON   Code = "bad_json"
	BadUTF8   Code = "bad_utf8"
	BadFormat Code = "unknown_format"
	BadShape  Code = "bad_shape" // JSON, but not of the shape that its format or subject needs
	BadToken  Code = "bad_session_token"
	OverLimit Code = "over_limit"
	// CallClosed rejects args for a call that was closed before they were complete.
	CallClosed Code = "call_closed"
)

// Text is a kind of text; several codes share one.
type Text string

// The texts about closed calls.
const (
	TextNewMessage  Text = "new_message"
	TextInterrupted Text = "interrupted"
	TextArgs        Text = "args"
	TextCancelled   Text = "cancelled"
	TextTimeout     Text = "timeout"
	TextDenied      Text = "denied"
)

// TextFor returns the text for a call that was closed for code. A call whose
// args were incomplete or are not JSON was certainly not run, and its text
// states this.
func TextFor(code Code, argsUsable bool) Text {
	switch {
	case code == ByNewMessage:
		return TextNewMessage
	case code == ByDenied:
		return TextDenied
	case !argsUsable, code == ByCut:
		return TextArgs
	}
	switch code {
	case ByInterrupt, ByRunCancelled, BySuperseded:
		return TextCancelled
	case ByResultTimeout, ByArgsTimeout:
		return TextTimeout
	}
	return TextInterrupted
}

// Langs lists the languages of the texts; the first is the default.
var Langs = [...]string{"en", "zh"}

// sentences are the templates of the texts, in the languages of Langs.
var sentences = map[Text][len(Langs)]string{
	TextNewMessage: {
		"Tool call {name} with id {id} was cancelled - another message came in before it could be completed.",
		"工具调用 {name}（ID 为 {id}）已被取消 - 在其完成之前收到了另一条消息。",
	},
	TextInterrupted: {
		"Tool call {name} with id {id} was interrupted: no result was recorded. It may or may not have run.",
		"工具调用 {name}（ID 为 {id}）被中断：没有记录到结果。它可能已执行，也可能未执行。",
	},
	TextArgs: {
		"Tool call {name} with id {id} was not run: its arguments were incomplete or malformed.",
		"工具调用 {name}（ID 为 {id}）未执行：其参数不完整或格式错误。",
	},
	TextCancelled: {
		"Tool call {name} with id {id} was cancelled before it was completed. It may have run in part.",
		"工具调用 {name}（ID 为 {id}）在完成之前已被取消。它可能已部分执行。",
	},
	TextTimeout: {
		"Tool call {name} with id {id} timed out: no result was received. It may or may not have run.",
		"工具调用 {name}（ID 为 {id}）已超时：未收到结果。它可能已执行，也可能未执行。",
	},
	TextDenied: {
		"Tool call {name} with id {id} was not run: it was rejected.",
		"工具调用 {name}（ID 为 {id}）未执行：它被拒绝了。",
	},
}

// Sentence returns the template of a text in a language of Langs, with the
// placeholders {name} and {id}. For an unknown lang it is English, and for an unknown
// text that of TextInterrupted.
func Sentence(text Text, lang string) string {
	in, ok := sentences[text]
	if !ok {
		in = sentences[TextInterrupted]
	}
	return in[max(0, slices.Index(Langs[:], lang))]
}

// Fill returns a template with a call's name and id in place of the
// placeholders. Placeholders inside the name or the id are not replaced.
func Fill(template, name, id string) string {
	return strings.NewReplacer("{name}", cmp.Or(name, "unknown"), "{id}", id).Replace(template)
}
