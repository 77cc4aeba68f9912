package final

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// chat is an answer of Chat Completions:
// https://platform.openai.com/docs/api-reference/chat-streaming
type chat struct {
	common
	first   gjson.Result // the first chunk with a choice
	choices []*choice
	usage   bool // was sent
}

// choice is one of the answers to a request.
type choice struct {
	index    string            // in JSON
	said     string            // its text
	args     map[string]string // of calls, by key
	finished bool
}

func (a *chat) choice(index string) *choice {
	for _, c := range a.choices {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index, args: map[string]string{}}
	a.choices = append(a.choices, c)
	return c
}

func (a *chat) read(e gjson.Result) {
	if !e.IsObject() {
		a.ended = a.ended || e.Raw == "[DONE]" || e.Str == "[DONE]"
		return
	}
	a.ended = a.ended || e.Get("error").Exists()
	a.usage = a.usage || e.Get("usage").IsObject()
	for _, v := range e.Get("choices").Array() {
		if !a.first.Exists() {
			a.first = e
		}
		c, delta := a.choice(v.Get("index").Raw), v.Get("delta")
		text := delta.Get("content").Str
		c.said += text
		a.said.WriteString(text)
		for _, t := range delta.Get("tool_calls").Array() {
			a.fragment(c, t.Get("index").Raw, t.Get("id").Str, t.Get("function.arguments").Str+t.Get("custom.input").Str)
		}
		if f := delta.Get("function_call"); f.Exists() {
			a.fragment(c, "f", f.Get("name").Str, f.Get("arguments").Str)
		}
		if v.Get("finish_reason").Str != "" {
			c.finished = true
			for key := range c.args {
				a.finish(key)
			}
		}
	}
}

// fragment adds a fragment of a call. No event says that a call is complete: args that are an
// object are.
func (a *chat) fragment(c *choice, index, id, args string) {
	key := c.index + " " + index
	before, known := c.args[key]
	if !known {
		a.begin(key, id)
	}
	c.args[key] = before + args
	if text := c.args[key]; gjson.Valid(text) && gjson.Parse(text).IsObject() {
		a.finish(key)
	}
}

// rest returns no orderly end behind args that are cut, as some clients repair and execute
// them. Behind a complete call an error prevents what can be prevented: a client repeats an
// answer that is cut, and then executes what it has.
func (a *chat) rest(r *Request) (list []string, cut bool) {
	out, begun := a.out()
	switch {
	case out != nil:
		return []string{`{"error":{"message":` + quote(r.Text) + `,"type":"server_error","code":null}}`}, false
	case begun:
		return nil, true
	}
	first := a.first
	if !first.Exists() {
		first = gjson.Parse(fmt.Sprintf(`{"id":%s,"object":"chat.completion.chunk","created":%d,"model":%s}`, quote("chatcmpl-"+r.ID), r.Time, quote(r.Model)))
	}
	add := func(choices string, more ...string) {
		list = append(list, with(first, append([]string{"choices", choices}, more...)...))
	}
	if a.choices == nil {
		add(`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`)
		a.choice("0")
	}
	for _, c := range a.choices {
		if c.finished {
			continue
		}
		add(fmt.Sprintf(`[{"index":%s,"delta":{"content":%s},"finish_reason":null}]`, c.index, quote(behind(c.said, r.Text))))
		add(fmt.Sprintf(`[{"index":%s,"delta":{},"finish_reason":"stop"}]`, c.index))
	}
	if r.Usage && !a.usage {
		add(`[]`, "usage", chatUsage)
	}
	return append(list, "[DONE]"), false
}

const chatUsage = `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`

func chatWhole(r *Request) string {
	return fmt.Sprintf(`{"id":%s,"object":"chat.completion","created":%d,"model":%s,"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":%s}`, quote("chatcmpl-"+r.ID), r.Time, quote(r.Model), quote(r.Text), chatUsage)
}
