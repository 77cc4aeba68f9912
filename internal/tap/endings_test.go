package tap

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

const ask = `{"model":"m","stream":true,"messages":[{"role":"user","content":"weather?"}],"tools":[{"type":"function"}]}`

// chatHead is the beginning of chatCall: its first two events.
var chatHead = chatCall[:strings.Index(chatCall, `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},`)]

// TestClientLeaves: where the client leaves, the upstream's request is aborted, and the
// calls of the answer end.
func TestClientLeaves(t *testing.T) {
	tests := []struct{ name, sent, want string }{
		{"before the answer", "", "S: human weather?"},
		{"in mid-stream", chatHead, `S: human weather?
			S: call call_1 weather
			S: result call_1 cancelled "Tool call weather with id call_1 was cancelled before it was completed. It may have run in part."
			S: run cancelled`},
		{"behind the last event", chatCall, `S: human weather?
			S: call call_1 weather
			S: args call_1 {"city":"Oslo"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reached, aborted := make(chan bool), make(chan bool)
			url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if test.sent != "" {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, test.sent)
					_ = http.NewResponseController(w).Flush()
				}
				close(reached)
				<-r.Context().Done()
				close(aborted)
			}), nil)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/openai/v1/chat/completions", strings.NewReader(ask))
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					_, err = io.ReadFull(res.Body, make([]byte, len(test.sent)))
					if err == nil {
						leave()
					}
					res.Body.Close()
				}
				ended <- err
			}()
			await(t, "the request", reached)
			if test.sent == "" {
				leave()
			}
			if err := await(t, "the client", ended); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			left := time.Now()
			await(t, "the end of the upstream's request", aborted)
			if took := time.Since(left); took > time.Second {
				t.Errorf("the request was aborted after %v", took)
			}
			checkStory(t, l, tp, test.want)
			if w := tp.Warnings(); w != nil {
				t.Error(w)
			}
		})
	}
}

// TestReadOn: with ReadOn an answer is read to its end when the client has left.
func TestReadOn(t *testing.T) {
	left := make(chan bool)
	url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chatHead)
		_ = http.NewResponseController(w).Flush()
		<-left
		// Writes fail at the tap only some time after the client left.
		for range 2000 {
			if _, err := io.WriteString(w, ": "+strings.Repeat("-", 1000)+"\n\n"); err != nil {
				t.Error(err)
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, chatCall[len(chatHead):])
	}), func(o *Options) { o.ReadOn = true })
	conn, host, path := dialTap(t, url+"/openai/v1/chat/completions")
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", path, host, len(ask), ask)
	if _, err := io.ReadFull(conn, make([]byte, len(chatHead))); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	close(left)
	want := `S: human weather?
		S: call call_1 weather
		S: args call_1 {"city":"Oslo"}`
	l.awaitLines(t, 3)
	checkStory(t, l, tp, want)
}

// TestUpstreamCuts: an answer that the upstream cuts is cut at the same byte for the
// client.
func TestUpstreamCuts(t *testing.T) {
	const question = "S: human weather?\n"
	whole := `{"id":"c","object":"chat.completion","choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`
	tests := []struct{ name, head, body, want string }{
		{"chunks", "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n", len(chatHead), chatHead), question + `S: call call_1 weather
			S: result call_1 cancelled "Tool call weather with id call_1 was interrupted: no result was recorded. It may or may not have run."
			S: run error`},
		{"length", fmt.Sprintf("Content-Length: %d\r\n", len(chatCall)), chatHead, question + `S: call call_1 weather
			S: result call_1 cancelled "Tool call weather with id call_1 was interrupted: no result was recorded. It may or may not have run."
			S: run error`},
		{"before an event", "Transfer-Encoding: chunked\r\n", "5\r\ndata:\r\n", question},
		{"before all", "Transfer-Encoding: chunked\r\n", "", question},
		{"whole answer", fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(whole)), whole[:20], question},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url, l, tp := openRaw(t, func(c net.Conn, r *bufio.Reader) {
				readRequest(r)
				kind := "Content-Type: text/event-stream\r\n"
				if strings.Contains(test.head, "Type") {
					kind = ""
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+kind+test.head+"\r\n"+test.body)
			}, nil)
			res, err := http.Post(url+"/openai/v1/chat/completions", "application/json", strings.NewReader(ask))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if _, text, chunked := strings.Cut(test.body, "\r\n"); !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != test.body && (!chunked || string(body) != strings.TrimSuffix(text, "\r\n")) {
				t.Errorf("the client got %q, %v", body, err)
			}
			checkStory(t, l, tp, test.want)
		})
	}
}

// TestNoEnd: a stream of Anthropic without its last events was cut, also where the body has
// no length.
func TestNoEnd(t *testing.T) {
	answer := message("call_1", "weather", "{}")
	url, l, tp := open(t, sse(answer[:strings.Index(answer, "event: message_delta")]), nil)
	post(t, url+"/anthropic/v1/messages", `{"messages":[{"role":"user","content":"weather?"}],"tools":[{}]}`)
	checkStory(t, l, tp, `S: human weather?
		S: call call_1 weather
		S: args call_1 {}
		S: result call_1 cancelled "Tool call weather with id call_1 was interrupted: no result was recorded. It may or may not have run."
		S: run error`)
}

// attempts is an upstream whose first answer is an error or is cut.
func attempts(status int, first string) http.Handler {
	var n atomic.Int32
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if n.Add(1) > 1 {
			_, _ = io.WriteString(w, chatCall)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, first)
		if status == http.StatusOK {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
}

// TestRetries: a request that is repeated after a failure is one message, and the
// question in it as well.
func TestRetries(t *testing.T) {
	for name, upstream := range map[string]http.Handler{
		"500":                       attempts(500, `{"error":{"message":"m"}}`),
		"429":                       attempts(429, `{"error":{"message":"m"}}`),
		"529":                       attempts(529, ``),
		"cut before all":            attempts(200, ""),
		"cut in the first event":    attempts(200, `data: {"id":"c1"`),
		"cut before the first part": attempts(200, `data: {"id":"c0","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant"}}]}`+"\n\n"),
	} {
		for _, header := range []string{"X-Claude-Code-Session-Id", "X-Other"} {
			t.Run(name+" "+header, func(t *testing.T) {
				attempt := upstream
				if header == "X-Other" { // the handlers count
					attempt = map[string]http.Handler{
						"500": attempts(500, "x"), "429": attempts(429, "x"), "529": attempts(529, ""), "cut before all": attempts(200, ""),
						"cut in the first event":    attempts(200, `data: {"id":"c1"`),
						"cut before the first part": attempts(200, ": comment\n\n"),
					}[name]
				}
				url, l, tp := open(t, attempt, nil)
				for range 2 {
					req, err := http.NewRequest(http.MethodPost, url+"/openai/v1/chat/completions", strings.NewReader(ask))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set(header, "s1")
					req.Header.Set("Authorization", "Bearer "+secretKey)
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, res.Body) // the first one may be cut
					res.Body.Close()
				}
				checkStory(t, l, tp, `S: human weather?
					S: call call_1 weather
					S: args call_1 {"city":"Oslo"}`)
			})
		}
	}
}

// TestStoreAway: where nothing can be published, the client notices nothing, and the loss
// is counted, logged once, and an event of the session.
func TestStoreAway(t *testing.T) {
	t.Run("for good", func(t *testing.T) {
		url, l, tp := open(t, sse(chatCall, chatCall, chatCall), func(o *Options) { o.Patience = time.Millisecond })
		l.mu.Lock()
		l.fail = errors.New("no responders")
		l.mu.Unlock()
		before := strings.Count(logged.String(), "a part of a copy is lost")
		for i := range 3 {
			if got := post(t, url+"/openai/v1/chat/completions", ask, "Streamer-Session", fmt.Sprint("s", i)); got != chatCall {
				t.Errorf("the client got %q", got)
			}
		}
		closeTap(t, tp)
		if w := tp.Warnings(); len(w) != 1 || !strings.Contains(w[0], "the tap lost ") {
			t.Errorf("the warnings are %q", w)
		}
		if n := strings.Count(logged.String(), "a part of a copy is lost") - before; n != 1 {
			t.Errorf("%d lines of the log have the loss", n)
		}
	})
	t.Run("for an answer", func(t *testing.T) {
		url, l, tp := open(t, sse(chatCall), func(o *Options) {
			o.Patience = time.Millisecond
			publish := o.Publish
			o.Publish = func(ctx context.Context, token string, kind inputs.Kind, id string, h inputs.Header, data []byte) (uint64, bool, error) {
				if strings.Contains(string(data), "finish_reason") {
					return 0, false, errors.New("no responders")
				}
				return publish(ctx, token, kind, id, h, data)
			}
		})
		post(t, url+"/openai/v1/chat/completions", ask)
		closeTap(t, tp)
		if n := l.losses(); n != 1 {
			t.Errorf("%d events have the loss: %s", n, l.inputs)
		}
	})
	t.Run("slow", func(t *testing.T) {
		release := make(chan bool)
		const n = 3 * maxWaiting / (64 << 10)
		filler := `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 64<<10) + `"}}]}` + "\n\n"
		url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, chatHead)
			for range n {
				_, _ = io.WriteString(w, filler)
			}
		}), func(o *Options) {
			publish := o.Publish
			o.Publish = func(ctx context.Context, token string, kind inputs.Kind, id string, h inputs.Header, data []byte) (uint64, bool, error) {
				<-release
				return publish(ctx, token, kind, id, h, data)
			}
		})
		res, err := http.Post(url+"/openai/v1/chat/completions", "application/json", strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.Copy(io.Discard, res.Body)
		if res.Body.Close(); err != nil || got != int64(len(chatHead)+n*len(filler)) {
			t.Errorf("the client got %d bytes, %v", got, err)
		}
		if m := tp.memory.Load(); m > maxWaiting+maxRequest {
			t.Errorf("%d bytes of copies wait", m)
		}
		close(release)
		closeTap(t, tp)
		if story := l.story(); !strings.Contains(story, "call call_1 weather") || l.losses() != 1 {
			t.Errorf("the log has\n%s\nwant the call, and one event with the loss; %d have it", story, l.losses())
		}
		if w := tp.Warnings(); len(w) != 1 {
			t.Errorf("the warnings are %q", w)
		}
		if m := tp.memory.Load(); m != 0 {
			t.Errorf("%d bytes of copies are kept", m)
		}
	})
}

// losses returns the number of messages that failed, as the loss of an answer does.
func (l *inputLog) losses() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events {
		if e := &l.events[i]; e.Type == events.MessageFinished && e.FinishReason == "error" {
			n++
		}
	}
	return n
}

// TestConcurrent: answers to concurrent requests of one session do not mix.
func TestConcurrent(t *testing.T) {
	const n = 3
	var arrived sync.WaitGroup
	arrived.Add(n)
	pieces := strings.SplitAfter(chatCall, "\n\n")
	url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		arrived.Done()
		arrived.Wait()
		for _, e := range pieces {
			_, _ = io.WriteString(w, strings.ReplaceAll(e, "call_1", "call_"+r.Header.Get("X-N")))
			_ = http.NewResponseController(w).Flush()
		}
	}), nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			post(t, url+"/openai/v1/chat/completions", strings.Replace(ask, "weather?", fmt.Sprint("weather ", i), 1), "Streamer-Session", "s", "X-N", fmt.Sprint(i))
		})
	}
	wg.Wait()
	closeTap(t, tp)
	story := l.story()
	for i := range n {
		for _, want := range []string{fmt.Sprintf("s: call call_%d weather", i), fmt.Sprintf(`s: args call_%d {"city":"Oslo"}`, i), fmt.Sprint("s: human weather ", i)} {
			if strings.Count(story, want) != 1 {
				t.Errorf("the log has\n%s\nwant %s", story, want)
			}
		}
	}
}
