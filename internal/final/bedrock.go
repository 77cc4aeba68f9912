package final

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// bedrock is an answer of ConverseStream, whose events are {"type","event"} here:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
type bedrock struct {
	common
	begun bool
	over  bool  // the stop reason was sent
	next  int64 // index of the next block
	open  int64 // index of the block of text that is open, behind next for none
}

func (a *bedrock) read(e gjson.Result) {
	v := e.Get("event")
	index := v.Get("contentBlockIndex")
	switch e.Get("type").Str {
	case "messageStart":
		a.begun, a.open = true, -1
	case "contentBlockStart":
		a.next = index.Int() + 1
		if t := v.Get("start.toolUse"); t.Exists() {
			a.begin(index.Raw, t.Get("toolUseId").Str)
		}
	case "contentBlockDelta":
		a.next = max(a.next, index.Int()+1)
		if text := v.Get("delta.text"); text.Exists() {
			a.open = index.Int()
			a.said.WriteString(text.Str)
		}
	case "contentBlockStop":
		a.open = -1
		a.finish(index.Raw)
	case "messageStop":
		a.over = true
	case "metadata":
		a.ended = true
	}
}

// rest leaves the block of a call open.
func (a *bedrock) rest(r *Request) (list []string, cut bool) {
	if out, _ := a.out(); out != nil {
		return nil, true
	}
	add := func(kind, format string, args ...any) {
		list = append(list, fmt.Sprintf(`{"type":%q,"event":%s}`, kind, fmt.Sprintf(format, args...)))
	}
	if !a.begun {
		add("messageStart", `{"role":"assistant"}`)
		a.open = -1
	}
	if !a.over {
		if a.open >= 0 {
			add("contentBlockStop", `{"contentBlockIndex":%d}`, a.open)
		}
		add("contentBlockDelta", `{"contentBlockIndex":%d,"delta":{"text":%s}}`, a.next, quote(r.Text))
		add("contentBlockStop", `{"contentBlockIndex":%d}`, a.next)
		add("messageStop", `{"stopReason":"end_turn"}`)
	}
	add("metadata", `{"usage":%s,"metrics":{"latencyMs":0}}`, bedrockUsage)
	return list, false
}

const bedrockUsage = `{"inputTokens":0,"outputTokens":0,"totalTokens":0}`

func bedrockWhole(r *Request) string {
	return fmt.Sprintf(`{"output":{"message":{"role":"assistant","content":[{"text":%s}]}},"stopReason":"end_turn","usage":%s,"metrics":{"latencyMs":0}}`, quote(r.Text), bedrockUsage)
}
