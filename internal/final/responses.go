package final

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// responses is an answer of the Responses API, over SSE or a WebSocket:
// https://platform.openai.com/docs/api-reference/responses-streaming
type responses struct {
	common
	base     gjson.Result // the response, as it was created
	sequence int64        // number of the last event
	next     int64        // index of the next item
	done     []string     // items, in JSON

	// Of the message that is open:
	item  gjson.Result // as it began; no JSON if none is open
	index int64
	parts []string // its parts that are done, in JSON
	inner bool     // a part is open
	text  strings.Builder
}

// clientCalls are the types of the items that a client executes. Others are executed by the
// provider.
var clientCalls = map[string]bool{
	"function_call": true, "custom_tool_call": true, "local_shell_call": true, "shell_call": true,
	"apply_patch_call": true, "computer_call": true,
}

func (a *responses) read(e gjson.Result) {
	if n := e.Get("sequence_number"); n.Exists() {
		a.sequence = n.Int()
	}
	index, item := e.Get("output_index"), e.Get("item")
	switch e.Get("type").Str {
	case "response.created":
		a.base = e.Get("response")
	case "response.output_item.added":
		a.next = index.Int() + 1
		switch kind := item.Get("type").Str; {
		case kind == "message":
			a.item, a.index, a.parts, a.inner = item, index.Int(), nil, false
		case clientCalls[kind]:
			a.begin(index.Raw, item.Get("call_id").Str)
		}
	case "response.content_part.added":
		a.inner = e.Get("part.type").Str == "output_text"
		a.text.Reset()
	case "response.output_text.delta":
		a.said.WriteString(e.Get("delta").Str)
		a.text.WriteString(e.Get("delta").Str)
	case "response.content_part.done":
		a.parts, a.inner = append(a.parts, e.Get("part").Raw), false
	case "response.output_item.done":
		a.done, a.item = append(a.done, item.Raw), gjson.Result{}
		a.next = max(a.next, index.Int()+1)
		if clientCalls[item.Get("type").Str] {
			a.begin(index.Raw, item.Get("call_id").Str)
			a.finish(index.Raw)
		}
	case "response.completed", "response.failed", "response.incomplete", "response.cancelled", "error":
		a.ended = true
	}
}

// rest completes the response without a call whose end was not sent, which is not executed
// then. A message goes on to its end, and the text is one of its own.
func (a *responses) rest(r *Request) (list []string, cut bool) {
	if out, _ := a.out(); out != nil {
		return nil, true
	}
	add := func(kind, format string, args ...any) {
		a.sequence++
		list = append(list, fmt.Sprintf(`{"type":"response.%s",%s,"sequence_number":%d}`, kind, fmt.Sprintf(format, args...), a.sequence))
	}
	if !a.base.Exists() {
		a.base = gjson.Parse(fmt.Sprintf(`{"id":%s,"object":"response","created_at":%d,"status":"in_progress","model":%s,"error":null,"incomplete_details":null,"instructions":null,"metadata":{},"output":[],"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","tools":[],"top_p":1}`, quote("resp_"+r.ID), r.Time, quote(r.Model)))
		add("created", `"response":%s`, a.base.Raw)
		add("in_progress", `"response":%s`, a.base.Raw)
	}
	if a.item.Exists() {
		a.endMessage(add)
	}
	a.item, a.index, a.inner, a.parts = gjson.Parse(`{"id":`+quote("msg_"+r.ID)+`,"type":"message","role":"assistant","status":"in_progress","content":[]}`), a.next, true, nil
	a.text.Reset()
	a.text.WriteString(r.Text)
	id := a.item.Get("id").Raw
	add("output_item.added", `"output_index":%d,"item":%s`, a.index, a.item.Raw)
	add("content_part.added", `"item_id":%s,"output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`, id, a.index)
	add("output_text.delta", `"item_id":%s,"output_index":%d,"content_index":0,"delta":%s,"logprobs":[]`, id, a.index, quote(r.Text))
	a.endMessage(add)
	add("completed", `"response":%s`, with(a.base, "status", `"completed"`, "output", "["+strings.Join(a.done, ",")+"]", "usage", responsesUsage))
	return list, false
}

// endMessage ends the open message. One without a part stays open.
func (a *responses) endMessage(add func(kind, format string, args ...any)) {
	id := a.item.Get("id").Raw
	if a.inner {
		at, part := len(a.parts), `{"type":"output_text","text":`+quote(a.text.String())+`,"annotations":[]}`
		add("output_text.done", `"item_id":%s,"output_index":%d,"content_index":%d,"text":%s,"logprobs":[]`, id, a.index, at, quote(a.text.String()))
		add("content_part.done", `"item_id":%s,"output_index":%d,"content_index":%d,"part":%s`, id, a.index, at, part)
		a.parts = append(a.parts, part)
	}
	if a.parts != nil {
		item := with(a.item, "status", `"completed"`, "content", "["+strings.Join(a.parts, ",")+"]")
		add("output_item.done", `"output_index":%d,"item":%s`, a.index, item)
		a.done = append(a.done, item)
	}
}

const responsesUsage = `{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}`

func responsesWhole(r *Request) string {
	list, _ := (&responses{sequence: -1}).rest(r)
	return gjson.Get(list[len(list)-1], "response").Raw
}

// Unknown returns the frame that answers a request which follows an answer that the provider
// does not know. Codex then sends the whole history on another connection.
func Unknown(previous string) []byte {
	return []byte(`{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"previous_response_not_found","message":` + quote("Previous response with id '"+previous+"' not found.") + `}}`)
}
