package tap

import (
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

//go:embed testdata
var testdata embed.FS

// request is a request that the upstream got, and what it sent.
type request struct {
	Line   string
	Header []string // without those of the connection
	Body   string   // digest
	Sent   string   // digest, cut or left; "" until all is sent
}

// upstream is a server of models. The first segment of a path is the key of a job:
// <client>.<case>.<way>.
type upstream struct {
	url string

	mu       sync.Mutex
	requests map[string][]*request
}

func openUpstream(t *testing.T) *upstream {
	u := &upstream{requests: map[string][]*request{}}
	s := httptest.NewServer(u)
	t.Cleanup(s.Close)
	u.url = s.URL
	return u
}

// of returns the requests of a job.
func (u *upstream) of(key string) (list []request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.requests[key] {
		list = append(list, *r)
	}
	return list
}

// callOf returns the id of the call in the answers of a job.
func callOf(key string) string {
	client, rest, _ := strings.Cut(key, ".")
	name, _, _ := strings.Cut(rest, ".")
	return "call_" + client + "_" + name
}

// perConnection are the fields that may differ: those of the connection and the host.
var perConnection = []string{"Connection", "Keep-Alive", "Sec-Websocket-Key", "Upgrade", "Te", "Streamer-Session"}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, target, _ := strings.Cut(strings.TrimPrefix(r.RequestURI, "/"), "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := &request{Line: r.Method + " /" + target, Body: digest(string(body))}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if !slices.Contains(perConnection, name) {
			req.Header = append(req.Header, name+": "+strings.Join(r.Header[name], "|"))
		}
	}
	u.mu.Lock()
	n := len(u.requests[key])
	u.requests[key] = append(u.requests[key], req)
	u.mu.Unlock()
	if r.Header.Get("Upgrade") != "" {
		u.socket(w, r, key)
		return
	}
	sent := u.answer(w, r, body, strings.Split(key, ".")[1], callOf(key), n)
	u.mu.Lock()
	req.Sent = sent
	u.mu.Unlock()
	if sent == "cut" {
		panic(http.ErrAbortHandler)
	}
}

// answer answers the n-th request of a case, and returns what it sent.
func (u *upstream) answer(w http.ResponseWriter, r *http.Request, body []byte, name, call string, n int) string {
	status := map[string]int{"e400": 400, "e500": 500, "e429": 429}[name]
	if status != 0 && (name != "e429" || n == 0) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After-Ms", "1")
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(status)
		text := fmt.Sprintf(`{"type":"error","error":{"type":"fake","code":%d,"message":"no","status":"FAKE"}}`, status)
		_, _ = io.WriteString(w, text)
		return digest(text)
	}
	format := formatOf(r.URL.Path)
	if stream := strings.Contains(r.URL.Path, ":streamGenerate") || strings.Contains(string(body), `"stream":true`); !stream {
		w.Header().Set("Content-Type", "application/json")
		text := fixture(format+".json", call)
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = io.WriteString(w, text)
		return digest(text)
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	text := fixture(format+".sse", call)
	begun := strings.Index(text, "weather") // the call has begun
	event := begun + strings.Index(text[begun:], "\ndata: ")
	out := &output{hash: sha256.New(), w: w, flush: http.NewResponseController(w).Flush, random: rand.New(rand.NewPCG(1, 2))}
	switch name {
	case "cut":
		out.write(text[:event+10])
		return "cut"
	case "leave":
		out.write(text[:event+1])
		select {
		case <-r.Context().Done():
			return "left"
		case <-time.After(10 * time.Second): // the client does not close its connection
		}
		out.write(text[event+1:])
	case "gzip":
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			return "not asked for"
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		out.w, out.flush = z, func() error { return z.Flush() }
		out.write(text)
		_ = z.Close()
	default:
		out.write(text)
	}
	return fmt.Sprintf("%x", out.hash.Sum(nil))
}

// output writes a text in chunks of random sizes.
type output struct {
	hash   hash.Hash
	w      io.Writer
	flush  func() error
	random *rand.Rand
}

func (o *output) write(text string) {
	for len(text) > 0 {
		n := min(len(text), 1+o.random.IntN(97))
		o.hash.Write([]byte(text[:n]))
		if _, err := io.WriteString(o.w, text[:n]); err != nil {
			return
		}
		_ = o.flush()
		text = text[n:]
	}
}

// socket answers the messages of a WebSocket. The call of the n-th answer has an id that ends
// with n.
func (u *upstream) socket(w http.ResponseWriter, r *http.Request, key string) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionContextTakeover, CompressionThreshold: 1})
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }()
	for n := 0; ; n++ {
		_, data, err := c.Read(r.Context())
		if err != nil {
			return
		}
		u.mu.Lock()
		u.requests[key] = append(u.requests[key], &request{Line: "message", Body: digest(string(data))})
		u.mu.Unlock()
		for line := range strings.Lines(fixture("openai-responses.sse", fmt.Sprint(callOf(key), "_", n))) {
			if event, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
				if c.Write(r.Context(), websocket.MessageText, []byte(event)) != nil {
					return
				}
				if n > 0 && strings.Contains(key, ".leave.") && strings.Contains(event, "weather") {
					break // until the client has left
				}
			}
		}
	}
}

// formatOf returns the name of the fixture of an endpoint.
func formatOf(p string) string {
	switch path.Base(p) {
	case "completions":
		return "openai-chat"
	case "responses":
		return "openai-responses"
	case "messages":
		return "anthropic"
	}
	return "gemini"
}

func fixture(name, call string) string {
	data, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(data), "CALL", call)
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// compact returns a JSON value without white space.
func compact(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, _ := json.Marshal(v)
	return string(out)
}
