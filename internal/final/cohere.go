package final

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// cohere is an answer of the chat API, version 2: https://docs.cohere.com/v2/docs/streaming
type cohere struct {
	common
	begun bool
	next  int64 // index of the next block of text
	open  bool  // the block before it is open
}

func (a *cohere) read(e gjson.Result) {
	index, message := e.Get("index"), e.Get("delta.message")
	switch e.Get("type").Str {
	case "message-start":
		a.begun = true
	case "content-start":
		a.next, a.open = index.Int()+1, true
	case "content-delta":
		a.said.WriteString(message.Get("content.text").Str)
	case "content-end":
		a.open = false
	case "tool-call-start":
		a.begin(index.Raw, message.Get("tool_calls.id").Str)
	case "tool-call-end":
		a.finish(index.Raw)
	case "message-end":
		a.ended = true
	}
}

func (a *cohere) rest(r *Request) (list []string, cut bool) {
	if len(a.calls) > 0 {
		return nil, true
	}
	add := func(kind, format string, args ...any) {
		list = append(list, `{"type":"`+kind+`",`+fmt.Sprintf(format, args...)+`}`)
	}
	if !a.begun {
		add("message-start", `"id":%s,"delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}`, quote(r.ID))
	}
	if a.open {
		add("content-end", `"index":%d`, a.next-1)
	}
	add("content-start", `"index":%d,"delta":{"message":{"content":{"type":"text","text":""}}}`, a.next)
	add("content-delta", `"index":%d,"delta":{"message":{"content":{"text":%s}}}`, a.next, quote(r.Text))
	add("content-end", `"index":%d`, a.next)
	add("message-end", `"delta":{"finish_reason":"COMPLETE","usage":%s}`, cohereUsage)
	return list, false
}

const cohereUsage = `{"billed_units":{"input_tokens":0,"output_tokens":0},"tokens":{"input_tokens":0,"output_tokens":0}}`

func cohereWhole(r *Request) string {
	return fmt.Sprintf(`{"id":%s,"finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":%s}]},"usage":%s}`, quote(r.ID), quote(r.Text), cohereUsage)
}
