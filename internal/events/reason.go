package events

import "strings"

// Code says why a call was closed without a real result, why a run ended, or
// why an input was rejected.
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
	ByExpired       Code = "expired"
	ByLost          Code = "lost"
)

// Reasons for the end of a run besides those above.
const (
	ByRunIdle Code = "run_idle"
)

// Reasons for rejecting an input.
const (
	BadJSON   Code = "bad_json"
	BadUTF8   Code = "bad_utf8"
	BadFormat Code = "unknown_format"
	BadShape  Code = "bad_shape" // JSON, but not of the shape its format or subject asks for
	BadToken  Code = "bad_session_token"
	OverLimit Code = "over_limit"
	// CallClosed: args came for a call that was closed before they were complete.
	CallClosed Code = "call_closed"
)

// Text is a kind of sentence; several codes share one.
type Text string

// The sentences about closed calls.
const (
	TextNewMessage  Text = "new_message"
	TextInterrupted Text = "interrupted"
	TextArgs        Text = "args"
	TextCancelled   Text = "cancelled"
	TextTimeout     Text = "timeout"
	TextDenied      Text = "denied"
)

// TextFor picks the sentence for a call closed for code: one whose args were
// never complete or are no JSON was certainly not run, and the text says so.
func TextFor(code Code, argsUsable bool) Text {
	switch {
	case code == ByNewMessage:
		return TextNewMessage
	case !argsUsable:
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

// Langs are the languages the texts exist in; the first is the default.
var Langs = [...]string{"en", "zh"}

// Sentence gives the template of a text in a language of Langs (English where
// lang is unknown), with the places {name} and {id}.
func Sentence(text Text, lang string) string {
	if lang == "zh" {
		return sentenceZH(text)
	}
	return sentenceEN(text)
}

func sentenceEN(text Text) string {
	switch text {
	case TextNewMessage:
		return "Tool call {name} with id {id} was cancelled - another message came in before it could be completed."
	case TextArgs:
		return "Tool call {name} with id {id} was not run: its arguments were incomplete or malformed."
	case TextCancelled:
		return "Tool call {name} with id {id} was cancelled before it was completed. It may have run in part."
	case TextTimeout:
		return "Tool call {name} with id {id} timed out: no result was received. It may or may not have run."
	case TextDenied:
		return "Tool call {name} with id {id} was not run: it was rejected."
	}
	return "Tool call {name} with id {id} was interrupted: no result was recorded. It may or may not have run."
}

func sentenceZH(text Text) string {
	switch text {
	case TextNewMessage:
		return "工具调用 {name}（ID 为 {id}）已被取消 - 在其完成之前收到了另一条消息。"
	case TextArgs:
		return "工具调用 {name}（ID 为 {id}）未执行：其参数不完整或格式错误。"
	case TextCancelled:
		return "工具调用 {name}（ID 为 {id}）在完成之前已被取消。它可能已部分执行。"
	case TextTimeout:
		return "工具调用 {name}（ID 为 {id}）已超时：未收到结果。它可能已执行，也可能未执行。"
	case TextDenied:
		return "工具调用 {name}（ID 为 {id}）未执行：它被拒绝了。"
	}
	return "工具调用 {name}（ID 为 {id}）被中断：没有记录到结果。它可能已执行，也可能未执行。"
}

// Fill puts a call's name and id into a template. Values are not searched for
// places again.
func Fill(template, name, id string) string {
	if name == "" {
		name = "unknown"
	}
	return strings.NewReplacer("{name}", name, "{id}", id).Replace(template)
}
