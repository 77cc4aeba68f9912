package tap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/final"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// interrupt stops a session, and returns when the tap obeys.
func (l *inputLog) interrupt(t *testing.T, session, body string) {
	t.Helper()
	if _, _, err := l.publish(t.Context(), session, inputs.Interrupt, fmt.Sprint("interrupt", len(l.bodies())), nil, []byte(body)); err != nil {
		t.Fatal(err)
	}
}

// paused is an upstream that sends a part of an answer and waits for its end.
type paused struct {
	kind, encoding string
	part           []byte // nil: nothing, not even a header
	asked          atomic.Int64
	begun, ended   chan struct{}
}

func newPaused(kind, encoding string, part []byte) *paused {
	return &paused{kind: kind, encoding: encoding, part: part, begun: make(chan struct{}, 9), ended: make(chan struct{}, 9)}
}

func (p *paused) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	p.asked.Add(1)
	if p.part != nil {
		w.Header().Set("Content-Type", p.kind)
		if p.encoding != "" {
			w.Header().Set("Content-Encoding", p.encoding)
		}
		_, _ = w.Write(p.part)
		_ = http.NewResponseController(w).Flush()
	}
	p.begun <- struct{}{}
	<-r.Context().Done()
	p.ended <- struct{}{}
}

// answers are the requests of the formats, and the files with their answers.
var answers = []struct {
	name, path, request, kind, format, file string
}{
	{"anthropic", "/anthropic/v1/messages", `{"model":"m-1","stream":true,"tools":[{"name":"weather"}],"messages":[{"role":"user","content":"go"}]}`, final.SSE, "anthropic", "anthropic.sse"},
	{"chat", "/openai/v1/chat/completions", `{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function"}],"messages":[{"role":"user","content":"go"}]}`, final.SSE, "openai-chat", "openai-chat.sse"},
	{"responses", "/openai/v1/responses", `{"model":"m-1","stream":true,"tools":[{"type":"function"}],"input":"go"}`, final.SSE, "openai-responses", "openai-responses.sse"},
	{"gemini", "/gemini/v1beta/models/m-1:streamGenerateContent?alt=sse", `{"tools":[{}],"contents":[{"role":"user","parts":[{"text":"go"}]}]}`, final.SSE, "gemini", "gemini.sse"},
	{"ollama", "/ollama/api/chat", `{"model":"m-1","tools":[{}],"messages":[{"role":"user","content":"go"}]}`, final.Lines, "ollama", "ollama.ndjson"},
}

func parts(t *testing.T, file string) (list []string) {
	t.Helper()
	data, err := os.ReadFile("../final/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	end := map[bool]string{true: "\n\n", false: "\n"}[strings.HasSuffix(file, ".sse")]
	if bytes.Contains(data, []byte("\r\n")) {
		end = "\r\n\r\n"
	}
	list = strings.SplitAfter(string(data), end)
	return list[:len(list)-1]
}

// sendTo sends a request of session s. It returns nil where the test ends before the answer.
func sendTo(t *testing.T, url, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(HeaderSession, "s")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
	return res
}

var varying = regexp.MustCompile(`[A-Z2-7]{26}|"created(_at)?":([0-9]+|"[^"]*")`)

// fixed returns an answer without what is random or a time in it.
func fixed(text string) string { return varying.ReplaceAllString(text, "*") }

// received is what a client has got.
type received struct {
	res  *http.Response
	mu   sync.Mutex
	data []byte
	end  chan bool // has whether the answer was cut
}

// receive sends a request, and reads its answer.
func receive(t *testing.T, url, body string, headers ...string) *received {
	r := &received{end: make(chan bool, 1)}
	go func() {
		if r.res = sendTo(t, url, body, headers...); r.res == nil {
			r.end <- true
			return
		}
		defer r.res.Body.Close()
		buf := make([]byte, 4<<10)
		for {
			n, err := r.res.Body.Read(buf)
			r.mu.Lock()
			r.data = append(r.data, buf[:n]...)
			r.mu.Unlock()
			if err != nil {
				r.end <- !errors.Is(err, io.EOF)
				return
			}
		}
	}()
	return r
}

func (r *received) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.data)
}

// text returns the whole answer, decompressed.
func (r *received) text(t *testing.T) (text string, cut bool) {
	t.Helper()
	cut = await(t, "the end of an answer", r.end)
	encoding := r.res.Header.Get("Content-Encoding")
	if encoding == "" {
		return string(r.data), cut
	}
	d, err := decoded(bytes.NewReader(r.data), encoding, maxDecoded)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(d)
	if err != nil && !cut {
		t.Error(err)
	}
	return string(plain), cut
}

// TestStop: an answer under way ends as package final says, behind each of its events, also
// compressed; the upstream is closed; and the next request does not reach it.
func TestStop(t *testing.T) {
	for _, a := range answers {
		list := parts(t, a.file)
		encodings := []string{"", "gzip", "deflate", "br", "zstd"}
		for n := -1; n <= len(list); n++ {
			encoding := encodings[(n+1)%len(encodings)]
			t.Run(fmt.Sprintf("%s behind %d, %s", a.name, n, encoding), func(t *testing.T) {
				sent, part := "", []byte(nil)
				if n >= 0 {
					sent = strings.Join(list[:n], "")
					if part = []byte(sent); encoding != "" && n > 0 {
						part, _ = flushed(t, encoding, sent)
					} else {
						encoding = ""
					}
				}
				up := newPaused(a.kind, encoding, part)
				url, l, tp := open(t, up, nil)
				got := receive(t, url+a.path, a.request, "Accept-Encoding", "gzip, deflate, br, zstd")
				await(t, "the request", up.begun)
				testkit.UntilTrue(t, "the answer at the client", func() bool {
					return got.len() == len(part) && len(tp.sessions.at(&hold{session: "s"})) == 1
				})
				l.interrupt(t, "s", `{"reason":"enough"}`)
				r := final.Request{Format: a.format, Type: a.kind, Model: "m-1", Text: "This run was stopped by an interrupt: enough.", ID: strings.Repeat("A", 26), Usage: true}
				e := final.EndOf(r, []byte(sent))
				text, cut := got.text(t)
				if want := sent + string(e.Tail); cut != e.Cut || fixed(text) != fixed(want) {
					t.Errorf("got, cut %v\n%s\nwant %v\n%s", cut, text, e.Cut, want)
				}
				await(t, "the end of the upstream", up.ended)
				text, cut = receive(t, url+a.path, a.request).text(t)
				if want := string(final.Answer(r)); cut || fixed(text) != fixed(want) {
					t.Errorf("the next answer is\n%s\nwant\n%s", text, want)
				}
				if n := up.asked.Load(); n != 1 {
					t.Errorf("%d requests reached the upstream", n)
				}
			})
		}
	}
}

// counting is an upstream that answers every request with a text, and counts them by path.
type counting struct {
	mu   sync.Mutex
	n    map[string]int
	text string
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	c.mu.Lock()
	c.n[r.URL.Path]++
	c.mu.Unlock()
	w.Header().Set("Content-Type", final.SSE)
	_, _ = io.WriteString(w, c.text)
}

func (c *counting) asked(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[path]
}

const (
	chatPath  = "/openai/v1/chat/completions"
	userTurn  = `{"role":"user","content":"go"}`
	callTurn  = `,{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"4 C"}`
	finalText = "This run was stopped by an interrupt."
)

func chatRequest(history string) string {
	return `{"model":"m","stream":true,"tools":[{"type":"function"}],"messages":[` + history + `]}`
}

// TestHeld: what a stopped session sends gets the final answer in its mode, and what lifts the
// stop is a message of a person or a resume. Nothing else is touched.
func TestHeld(t *testing.T) {
	up := &counting{n: map[string]int{}, text: chatCall}
	url, l, tp := open(t, up, nil)
	ask := func(history string, headers ...string) string {
		t.Helper()
		text, _ := receive(t, url+chatPath, chatRequest(history), headers...).text(t)
		return text
	}
	held := func(what, answer string, want bool) {
		t.Helper()
		if got := strings.Contains(answer, finalText); got != want {
			t.Errorf("%s: held is %v; the answer is %s", what, got, answer)
		}
	}
	held("before", ask(userTurn), false)
	l.interrupt(t, "s", `{"calls":["1.0"]}`)
	held("after a call was closed", ask(userTurn+callTurn), false)
	l.interrupt(t, "s", `{}`)
	held("the next request", ask(userTurn+callTurn+callTurn), true)
	held("the same once more", ask(userTurn+callTurn+callTurn), true)
	held("the first request, repeated", ask(userTurn), true)
	held("a request without tools", post(t, url+chatPath, `{"model":"m","messages":[`+userTurn+`]}`, HeaderSession, "s"), true)
	held("the same agent elsewhere", post(t, url+"/anthropic/v1/messages", `{"model":"m","messages":[`+userTurn+`]}`, HeaderSession, "s"), true)
	held("another session", ask(userTurn, HeaderSession, "other"), false)
	before := up.asked("/v1/models")
	post(t, url+"/openai/v1/models", `{}`, HeaderSession, "s")
	post(t, url+"/anthropic/v1/messages/count_tokens", `{"messages":[]}`, HeaderSession, "s")
	if up.asked("/v1/models") != before+1 || up.asked("/v1/messages/count_tokens") != 1 {
		t.Error("a list of models or a count of tokens was held")
	}
	held("a new message", ask(userTurn+callTurn+`,{"role":"assistant","content":"`+finalText+`"},{"role":"user","content":"go on"}`), false)
	held("what follows it", ask(userTurn+callTurn+callTurn), false)
	l.interrupt(t, "s", `{}`)
	held("a second stop", ask(userTurn+callTurn), true)
	if _, _, err := l.publish(t.Context(), "s", inputs.Resume, "r", nil, nil); err != nil {
		t.Fatal(err)
	}
	held("after a resume", ask(userTurn+callTurn), false)
	closeTap(t, tp)
	var told []string
	for text := range strings.SplitSeq(l.bodies(), "\n") {
		if strings.HasPrefix(text, "s interrupt") || strings.HasPrefix(text, "s resume") {
			told = append(told, text)
		}
	}
	if got := strings.Join(told, "\n"); !strings.Contains(got, `"calls_out":["call_1"],"requests_answered":1`) || !strings.Contains(got, `"requests_answered":4`) || !strings.Contains(got, `s resume  {"by":"a new message of a person"}`) {
		t.Errorf("the log has\n%s", got)
	}
}

// TestHeldAgain: a stop holds in a tap that is started later, also where a person's message
// that the log has is repeated; and while the log is away.
func TestHeldAgain(t *testing.T) {
	up := &counting{n: map[string]int{}, text: chatText}
	url, l, _ := open(t, up, nil)
	first, _ := receive(t, url+chatPath, chatRequest(userTurn)).text(t)
	l.awaitLines(t, 1)
	l.interrupt(t, "s", `{"reason":"enough"}`)
	again := func(o *Options) {
		o.Publish, o.Follow = l.publish, l.followed
		o.LastHuman = func(context.Context, string) (string, error) { return "go", nil }
	}
	url, _, _ = open(t, up, again)
	l.mu.Lock()
	l.fail = errors.New("away")
	l.mu.Unlock()
	for range 2 {
		text, _ := receive(t, url+chatPath, chatRequest(userTurn)).text(t)
		if text == first || !strings.Contains(text, "interrupt: enough.") {
			t.Errorf("got %s", text)
		}
	}
	if text, _ := receive(t, url+chatPath, chatRequest(userTurn), HeaderSession, "other").text(t); text != first {
		t.Errorf("another session got %s", text)
	}
	l.mu.Lock()
	l.fail = nil
	l.mu.Unlock()
	if text, _ := receive(t, url+chatPath, chatRequest(userTurn+`,{"role":"user","content":"now"}`)).text(t); text != first {
		t.Errorf("a new message got %s", text)
	}
}

// TestHeldNamespace: a stop of a sub-agent holds it and those below it, and nothing else.
func TestHeldNamespace(t *testing.T) {
	up := &counting{n: map[string]int{}, text: chatText}
	url, l, _ := open(t, up, nil)
	l.interrupt(t, "s", `{"namespace":"agent|explorer"}`)
	for name, want := range map[string]bool{"explorer": true, "explorer2": false, "": false} {
		answer := post(t, url+chatPath, chatRequest(userTurn+callTurn), HeaderSession, "s", "X-Openai-Subagent", name)
		if got := strings.Contains(answer, finalText); got != want {
			t.Errorf("%q: held is %v", name, got)
		}
	}
}

// TestHeldRun: the stop of the open run holds, one of an earlier run does not, and one of the
// next run meets the message that begins it.
func TestHeldRun(t *testing.T) {
	for body, want := range map[string]bool{`{"run":"2.0"}`: true, `{"run":"1.0"}`: false, `{"run":"next"}`: true} {
		url, l, tp := open(t, &counting{n: map[string]int{}, text: chatCall}, nil)
		receive(t, url+chatPath, chatRequest(userTurn)).text(t)
		testkit.UntilTrue(t, "the call", func() bool { return tp.sessions.size() == 0 })
		l.interrupt(t, "s", body)
		text, _ := receive(t, url+chatPath, chatRequest(userTurn+callTurn)).text(t)
		if got := strings.Contains(text, finalText); got != want {
			t.Errorf("%s: held is %v", body, got)
		}
	}
	url, l, _ := open(t, &counting{n: map[string]int{}, text: chatText}, nil)
	l.now = time.Now().UnixMilli()
	l.interrupt(t, "s", `{"run":"next"}`)
	for _, want := range []bool{true, false} {
		text, _ := receive(t, url+chatPath, chatRequest(fmt.Sprintf(`{"role":"user","content":"go %v"}`, want))).text(t)
		if got := strings.Contains(text, finalText); got != want {
			t.Errorf("a message: held is %v, want %v", got, want)
		}
	}
}

// TestShared: conversations that began alike at once share a session, and none is stopped.
func TestShared(t *testing.T) {
	up := newPaused(final.SSE, "", []byte(":\n\n"))
	url, l, tp := open(t, up, nil)
	for range 2 {
		receive(t, url+chatPath, chatRequest(userTurn), HeaderSession, "")
		await(t, "the request", up.begun)
	}
	session := ""
	testkit.UntilTrue(t, "the session", func() bool {
		session = strings.Join(tp.Sessions(), " ")
		return session != "" && tp.Shared(session)
	})
	l.interrupt(t, session, `{}`)
	if tp.holds.size.Load() != 0 || len(up.ended) != 0 {
		t.Error("one of them was stopped")
	}
}

// TestHeldUnread: a request that is too large to be read is held where its header names its
// session.
func TestHeldUnread(t *testing.T) {
	up := &counting{n: map[string]int{}, text: chatText}
	url, l, _ := open(t, up, nil)
	l.interrupt(t, "s", `{}`)
	for session, want := range map[string]bool{"s": true, "other": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+chatPath, io.LimitReader(repeated("x"), maxRequest+1))
		if err != nil {
			t.Fatal(err)
		}
		req.ContentLength = maxRequest + 1
		req.Header.Set(HeaderSession, session)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data := make([]byte, len(chatText)+1000)
		n, _ := io.ReadFull(res.Body, data)
		if got := strings.Contains(string(data[:n]), finalText); got != want {
			t.Errorf("%s: held is %v", session, got)
		}
	}
}

// TestHeldBeside: of many sessions those that are stopped are held, and no other.
func TestHeldBeside(t *testing.T) {
	up := &counting{n: map[string]int{}, text: chatText}
	_, l, tp := open(t, up, nil)
	sessions, stopped := testkit.Of(300, 3_000), testkit.Of(30, 300)
	for n := range stopped {
		l.interrupt(t, fmt.Sprint("stopped", n), `{}`)
	}
	answer := httptest.NewRecorder()
	for n := range sessions {
		r := httptest.NewRequest(http.MethodPost, "/tap"+chatPath, strings.NewReader(chatRequest(fmt.Sprintf(`{"role":"user","content":"go %d"}`, n%7))))
		r.Header.Set(HeaderSession, fmt.Sprint("session", n))
		*answer = httptest.ResponseRecorder{Body: new(bytes.Buffer)}
		tp.ServeHTTP(answer, r)
		if got := answer.Body.String(); got != chatText {
			t.Fatalf("session %d got %s", n, got)
		}
	}
	if got := up.asked("/v1/chat/completions"); got != sessions {
		t.Errorf("%d requests of %d reached the upstream", got, sessions)
	}
}
