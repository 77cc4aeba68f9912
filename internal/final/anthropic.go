package final

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// anthropic is an answer of the Messages API:
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
type anthropic struct {
	common
	begun  bool
	over   bool  // the stop reason was sent
	next   int64 // index of the next block
	open   int64 // index of the open block of text, -1 if there is none
	empty  bool  // it has no text
	tokens int64 // of the output, as counted last
}

func (a *anthropic) read(e gjson.Result) {
	index := e.Get("index")
	switch e.Get("type").Str {
	case "message_start":
		a.begun, a.tokens = true, e.Get("message.usage.output_tokens").Int()
	case "content_block_start":
		a.next = index.Int() + 1
		switch b := e.Get("content_block"); b.Get("type").Str {
		case "text":
			a.open, a.empty = index.Int(), true
			a.text(b.Get("text").Str)
		case "tool_use":
			a.begin(index.Raw, b.Get("id").Str)
		}
	case "content_block_delta":
		if index.Int() == a.open {
			a.text(e.Get("delta.text").Str)
		}
	case "content_block_stop":
		if index.Int() == a.open {
			a.open = -1
		}
		a.finish(index.Raw)
	case "message_delta":
		a.over = true
	case "message_stop", "error":
		a.ended = true
	}
}

func (a *anthropic) text(text string) {
	a.said.WriteString(text)
	a.empty = a.empty && text == ""
}

// rest leaves the block of a call open, which is not executed then, and that of thoughts,
// which have no signature. A block of text that stays empty would be refused in a history.
func (a *anthropic) rest(r *Request) (list []string, cut bool) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if out, _ := a.out(); out != nil {
		return nil, true
	}
	if a.over {
		return []string{`{"type":"message_stop"}`}, false
	}
	if !a.begun {
		add(`{"type":"message_start","message":{"id":%s,"type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`, quote("msg_"+r.ID), quote(r.Model))
	}
	at := a.open
	if at < 0 || !a.empty {
		if at >= 0 {
			add(`{"type":"content_block_stop","index":%d}`, at)
		}
		at = a.next
		add(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, at)
	}
	add(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, at, quote(r.Text))
	add(`{"type":"content_block_stop","index":%d}`, at)
	add(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":%d}}`, a.tokens)
	add(`{"type":"message_stop"}`)
	return list, false
}

func anthropicWhole(r *Request) string {
	return fmt.Sprintf(`{"id":%s,"type":"message","role":"assistant","model":%s,"content":[{"type":"text","text":%s}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}`, quote("msg_"+r.ID), quote(r.Model), quote(r.Text))
}
