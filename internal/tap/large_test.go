package tap

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// TestLarge: an answer that is stored in pieces is cut between characters. Its text is that
// of the answer from its beginning, and its run ends as it did.
func TestLarge(t *testing.T) {
	text := strings.Repeat("xé", 3<<20) + "." // three bytes each, so that cuts fall within characters
	for name, c := range map[string]struct{ path, kind, before, after string }{
		"openai":      {"/openai/v1/chat/completions", "application/json", `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`, `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`},
		"openai SSE":  {"/openai/v1/chat/completions", "text/event-stream", `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"`, `"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"},
		"anthropic":   {"/anthropic/v1/messages", "application/json", `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"`, `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`},
		"responses":   {"/openai/v1/responses", "application/json", `{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"`, `"}]}]}`},
		"gemini":      {"/gemini/v1beta/models/m:generateContent", "application/json", `{"candidates":[{"content":{"role":"model","parts":[{"text":"`, `"}]},"finishReason":"STOP"}]}`},
		"ollama":      {"/ollama/api/chat", "application/x-ndjson", `{"model":"m","message":{"role":"assistant","content":"`, `"},"done":true}` + "\n"},
		"ollama JSON": {"/ollama/api/chat", "application/json", `{"model":"m","message":{"role":"assistant","content":"`, `"},"done":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := func(text string) (story, stored string) {
				url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", c.kind)
					_, _ = io.WriteString(w, c.before+text+c.after)
				}), nil)
				post(t, url+c.path, ask)
				closeTap(t, tp)
				if w := tp.Warnings(); w != nil {
					t.Error(w)
				}
				for i := range l.events {
					stored += l.events[i].Content
				}
				return l.story(), stored
			}
			want, question := answer("")
			got, stored := answer(text)
			if got != want {
				t.Errorf("the log has\n%s\nwant\n%s", got, want)
			}
			kept, whole := strings.CutSuffix(strings.TrimPrefix(stored, question), "…")
			if !whole || len(kept) < maxTexts || !strings.HasPrefix(text, kept) {
				t.Errorf("the text has %d bytes, and ends with %.20q", len(kept), kept[max(0, len(kept)-10):])
			}
		})
	}
}

// TestShorten: what is left of strings beyond the bound of an event.
func TestShorten(t *testing.T) {
	long := strings.Repeat("a", shortText)
	tests := []struct{ name, in, want string }{
		{"short", `{"a":"` + long + `","b":"x"}`, `{"a":"` + long + `","b":"x"}`},
		{"within the bound", `{"a":"` + long + `bcdef"}`, `{"a":"` + long + `bcdef"}`},
		{"beyond it", `{"a":"` + long + `12345678901","b":"` + long + `x","c":"x"}`, `{"a":"` + long + `1234567890…","b":"` + long + `…","c":"x"}`},
		{"characters", `"` + long + `123456789éé"`, `"` + long + `123456789é…"`},
		{"escapes", `"` + long + `12345678\u00e9\u00e9\n"`, `"` + long + `12345678\u00e9…"`},
		{"pairs", `"` + long + `12345678\ud83d\ude00."`, `"` + long + `12345678\ud83d\ude00…"`},
		{"quotation marks", `"` + long + `123456789\"\"\\"`, `"` + long + `123456789\"…"`},
		{"args as text", `{"arguments":"` + long + `12345678901"}`, `{"arguments":"` + long + `1234567890…"}`},
		{"args", `{"input":{"a":["` + long + `12345678901"]},"b":"` + long + `x"}`, `{"input":{"a":["` + long + `12345678901"]},"b":"` + long + `…"}`},
		{"the next event", `"` + long + `12345678901"` + "\n" + `"` + long + `1234567890"`, `"` + long + `1234567890…"` + "\n" + `"` + long + `1234567890"`},
		{"no JSON", `it"s` + "\n" + `{"a":1}`, `it"s` + "\n" + `{"a":1}`},
	}
	for _, test := range tests {
		for _, src := range []io.Reader{strings.NewReader(test.in), iotest.OneByteReader(strings.NewReader(test.in)), iotest.DataErrReader(strings.NewReader(test.in))} {
			got, err := io.ReadAll(&shortener{src: src, lines: true, most: 10, left: 10, buf: make([]byte, 100)})
			if err != nil || string(got) != test.want {
				t.Errorf("%s: got %s, %v\nwant %s", test.name, got, err, test.want)
			}
		}
	}
}

// FuzzShorten: JSON stays JSON with the same members, and its strings are beginnings of what they were.
func FuzzShorten(f *testing.F) {
	f.Add([]byte(`{"a":"x","input":{"b":"y"},"c":["\ud83d\ude00",1,null]}`), 3)
	f.Fuzz(func(t *testing.T, doc []byte, most int) {
		if !gjson.ValidBytes(doc) || !utf8.Valid(doc) {
			return
		}
		doc = bytes.ReplaceAll(doc, []byte("z"), bytes.Repeat([]byte("z"), shortText))
		got, err := io.ReadAll(&shortener{src: bytes.NewReader(doc), most: most, left: most, buf: make([]byte, 7)})
		if err != nil || !gjson.ValidBytes(got) || !utf8.Valid(got) {
			t.Fatalf("%q became %q, %v", doc, got, err)
		}
		same(t, gjson.ParseBytes(doc), gjson.ParseBytes(got))
	})
}

func same(t *testing.T, was, is gjson.Result) {
	t.Helper()
	kept, cut := strings.CutSuffix(is.Raw, `…"`)
	switch {
	case was.Type != is.Type, !was.IsObject() && !was.IsArray() && was.Raw != is.Raw && !(cut && strings.HasPrefix(was.Raw, kept)):
		t.Fatalf("%.80q became %.80q", was.Raw, is.Raw)
	case was.IsObject() || was.IsArray():
		a, b := was.Array(), is.Array()
		if was.IsObject() {
			a, b = nil, nil
			was.ForEach(func(k, v gjson.Result) bool { a = append(a, k, v); return true })
			is.ForEach(func(k, v gjson.Result) bool { b = append(b, k, v); return true })
		}
		if len(a) != len(b) {
			t.Fatalf("%.80q became %.80q", was.Raw, is.Raw)
		}
		for i := range a {
			same(t, a[i], b[i])
		}
	}
}

// TestLargeRequests: the copies of many large requests take a bounded memory. A request whose
// copy does not fit is passed on, and its session has a message that says so, and the answer.
func TestLargeRequests(t *testing.T) {
	const requests, size = 20, 30 << 20
	var peak atomic.Uint64
	var bodies sync.WaitGroup // all requests are there at the same time
	bodies.Add(requests)
	url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n < size {
			t.Errorf("the upstream got %d bytes, %v", n, err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak.Store(max(peak.Load(), m.HeapAlloc))
		bodies.Done()
		bodies.Wait()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chatCall)
	}), nil)
	var clients sync.WaitGroup
	for i := range requests {
		clients.Go(func() {
			head, tail := `{"messages":[{"role":"user","content":"`, `"}]}`
			body := io.MultiReader(strings.NewReader(head), io.LimitReader(repeated("long\\n"), size), strings.NewReader(tail))
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/openai/v1/chat/completions", body)
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = int64(len(head) + size + len(tail))
			req.Header.Set(HeaderSession, "s"+strconv.Itoa(i))
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); err != nil || string(got) != chatCall {
				t.Errorf("the client got %q, %v", got, err)
			}
		})
	}
	clients.Wait()
	closeTap(t, tp)
	story := l.story()
	for i := range requests {
		session := "s" + strconv.Itoa(i)
		read := strings.Contains(story, session+": human long")
		unread := strings.Contains(strings.Join(l.inputs, "\n"), session+` delta  {"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"(streamer: the tap passed on a request of`)
		if read == unread || !strings.Contains(story, session+": call call_1 weather") {
			t.Errorf("session %s: read %v, unread %v", session, read, unread)
		}
	}
	if n := peak.Load(); n > 350<<20 {
		t.Errorf("the heap has %d MB", n>>20)
	}
}

// repeated is an endless text.
type repeated string

func (r repeated) Read(p []byte) (n int, err error) {
	for n+len(r) <= len(p) {
		n += copy(p[n:], r)
	}
	if n == 0 {
		n = copy(p, r)
	}
	return n, nil
}
