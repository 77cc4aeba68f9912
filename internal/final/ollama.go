package final

import (
	"fmt"
	"time"

	"github.com/tidwall/gjson"
)

// ollama is an answer of POST /api/chat, whose calls come as a whole:
// https://github.com/ollama/ollama/blob/main/docs/api.md
type ollama struct{ common }

func (a *ollama) read(e gjson.Result) {
	for range e.Get("message.tool_calls").Array() {
		key := fmt.Sprint(len(a.calls))
		a.begin(key, "")
		a.finish(key)
	}
	a.said.WriteString(e.Get("message.content").Str)
	a.ended = a.ended || e.Get("done").Bool() || e.Get("error").Exists()
}

func (a *ollama) rest(r *Request) (list []string, cut bool) {
	if len(a.calls) > 0 {
		return nil, true
	}
	return []string{
		ollamaEvent(r, behind(a.said.String(), r.Text), `"done":false`),
		ollamaEvent(r, "", `"done":true,"done_reason":"stop"`),
	}, false
}

func ollamaEvent(r *Request, text, more string) string {
	return fmt.Sprintf(`{"model":%s,"created_at":"%s","message":{"role":"assistant","content":%s},%s}`, quote(r.Model), time.Unix(r.Time, 0).UTC().Format(time.RFC3339), quote(text), more)
}

func ollamaWhole(r *Request) string {
	return ollamaEvent(r, r.Text, `"done":true,"done_reason":"stop"`)
}
