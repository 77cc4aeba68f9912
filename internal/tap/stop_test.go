package tap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
	if err != nil {
		t.Fatal(err)
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
		r.res = sendTo(t, url, body, headers...)
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
