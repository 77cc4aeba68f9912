package final

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// gemini is an answer of generateContent: https://ai.google.dev/api/generate-content. A call
// comes as a whole.
type gemini struct {
	common
	last gjson.Result // the last event, without what surrounds it
}

func (a *gemini) read(e gjson.Result) {
	if e.Raw == closed || e.Get("error").Exists() {
		a.ended = true
		return
	}
	if inner := e.Get("response"); inner.IsObject() {
		e = inner
	}
	a.last = e
	for _, c := range e.Get("candidates").Array() {
		for i, p := range c.Get("content.parts").Array() {
			if f := p.Get("functionCall"); f.Exists() {
				key := fmt.Sprint(len(a.calls), i)
				a.begin(key, f.Get("id").Str)
				if !f.Get("willContinue").Bool() {
					a.finish(key)
				}
			}
			if text := p.Get("text").Str; !p.Get("thought").Bool() {
				a.said.WriteString(text)
			}
		}
		a.ended = a.ended || c.Get("finishReason").Str != ""
	}
}

func (a *gemini) rest(r *Request) (list []string, cut bool) {
	if len(a.calls) > 0 {
		return nil, true
	}
	base := a.last
	if !base.Exists() {
		base = geminiBase(r)
	}
	return []string{
		geminiEvent(r, base, `{"content":{"role":"model","parts":[{"text":`+quote(behind(a.said.String(), r.Text))+`}]},"index":0}`),
		geminiEvent(r, base, `{"finishReason":"STOP","index":0}`),
	}, false
}

func geminiBase(r *Request) gjson.Result {
	return gjson.Parse(fmt.Sprintf(`{"candidates":[],"usageMetadata":{"promptTokenCount":0,"candidatesTokenCount":0,"totalTokenCount":0},"modelVersion":%s,"responseId":%s}`, quote(r.Model), quote(r.ID)))
}

func geminiEvent(r *Request, base gjson.Result, candidate string) string {
	event := with(base, "candidates", "["+candidate+"]")
	if r.Inner {
		return `{"response":` + event + `}`
	}
	return event
}

func geminiWhole(r *Request) string {
	return geminiEvent(r, geminiBase(r), `{"content":{"role":"model","parts":[{"text":`+quote(r.Text)+`}]},"finishReason":"STOP","index":0}`)
}
