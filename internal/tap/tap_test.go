package tap

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// inputLog is the input log and its fold: what the tap publishes, and the events that follow.
type inputLog struct {
	mu     sync.Mutex
	seq    uint64
	states map[string]*session.State
	ids    map[string]bool
	inputs []string // token, kind, namespace and body
	events []events.Event
	fail   error // of Publish
	follow []func(from int)
	now    int64 // of the first input, in ms
}

// followed is Options.Follow.
func (l *inputLog) followed(ctx context.Context, typ events.Type, fn func(*events.Event, uint64)) error {
	news := func(from int) {
		l.mu.Lock()
		list := slices.Clone(l.events[from:])
		l.mu.Unlock()
		for i := range list {
			if list[i].Type == typ {
				fn(&list[i], uint64(from+i+1))
			}
		}
	}
	news(0)
	fn(nil, 0)
	l.mu.Lock()
	l.follow = append(l.follow, news)
	l.mu.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (l *inputLog) publish(_ context.Context, token string, kind inputs.Kind, id string, header inputs.Header, data []byte) (uint64, bool, error) {
	from := 0
	var follow []func(int)
	defer func() {
		for _, fn := range follow {
			fn(from)
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, false, l.fail
	}
	if l.ids[id] {
		return 0, true, nil
	}
	l.ids[id] = true
	from, follow = len(l.events), l.follow
	l.seq++
	l.inputs = append(l.inputs, fmt.Sprintf("%s %s %s %s", token, kind, header.Get(inputs.HeaderNamespace), data))
	s := l.states[token]
	if s == nil {
		s = &session.State{}
		l.states[token] = s
	}
	in := inputs.Input{Seq: l.seq, At: time.UnixMilli(l.now + int64(l.seq)), Token: token, Kind: kind, Header: header, Data: data}
	l.events = session.Fold(l.events, s, session.Input{Input: in})
	return l.seq, false, nil
}

// story returns the events in short, one per line and by session: those of calls, messages
// of people, ends of runs and rejections.
func (l *inputLog) story() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
	for i := range l.events {
		e := &l.events[i]
		place := e.Session
		if e.Place != nil && e.Namespace != "" {
			place += "/" + e.Namespace
		}
		switch e.Type {
		case events.ToolCallStart:
			add("%s: call %s %s %s", place, e.ID, e.ToolName, e.ParentCall)
		case events.ToolCallArgsComplete:
			add("%s: args %s %s", place, e.ID, *e.ArgsText)
		case events.ToolCallResult:
			add("%s: result %s %s %s", place, e.ID, e.Status, e.ToolResult)
		case events.HumanMessage:
			add("%s: human %s", place, e.Content)
		case events.RunFinished:
			add("%s: run %s", place, e.Status)
		case events.Rejected, events.OrphanResult:
			add("%s: %s %s", place, e.Type, e.Reason)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int {
		session := func(line string) string { return line[:strings.IndexAny(line, ":/")] }
		return strings.Compare(session(a), session(b))
	})
	return strings.Join(lines, "\n")
}

// start returns the URL of a tap of an upstream, its log, and the tap.
func start(t *testing.T, upstream http.Handler, change func(*Options)) (string, *inputLog, *Tap) {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	l := &inputLog{states: map[string]*session.State{}, ids: map[string]bool{}}
	o := Options{Publish: l.publish, Follow: l.followed, Log: zerolog.New(zerolog.NewTestWriter(t))}
	for _, name := range []string{"openai", "anthropic", "gemini", "ollama"} {
		u, err := ParseUpstream(name + "=" + up.URL)
		if err != nil {
			t.Fatal(err)
		}
		o.Upstreams = append(o.Upstreams, u)
	}
	if change != nil {
		change(&o)
	}
	tp, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(tp)
	t.Cleanup(func() { front.Close(); closeTap(t, tp) })
	return front.URL + "/tap", l, tp
}

// closeTap waits until all is published.
func closeTap(t *testing.T, tp *Tap) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tp.Close(ctx)
	if ctx.Err() != nil {
		t.Error("the tap did not end")
	}
}

// post sends a request and returns the body of the answer.
func post(t *testing.T, url, body string, headers ...string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sse is an upstream that answers the n-th request with the n-th text.
func sse(answers ...string) http.Handler {
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		kind := "text/event-stream"
		if strings.HasPrefix(answers[n], "{") {
			kind = "application/json"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, answers[n])
		n++
	})
}

const chatCall = `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":""}}]}}]}

data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Oslo\"}"}}]}}]}

data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`

const chatText = `data: {"id":"c2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"4 degrees."}}]}

data: {"id":"c2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`

// TestConversation: the calls of an answer are closed by the results of the next request,
// once, and each human message is published once.
func TestConversation(t *testing.T) {
	url, l, tp := start(t, sse(chatCall, chatText, chatText, chatCall), nil)
	url += "/openai/v1/chat/completions"
	system := `{"role":"system","content":"You are helpful."}`
	ask := system + `,{"role":"user","content":"weather in Oslo?"}`
	called := ask + `,{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"4 C"}`
	send := func(history string) string {
		return post(t, url, `{"model":"m","stream":true,"messages":[`+history+`],"tools":[{"type":"function","function":{"name":"weather"}}]}`, "Authorization", "Bearer k")
	}
	if got := send(ask); got != chatCall {
		t.Errorf("the answer is %q", got)
	}
	send(called)
	send(called + `,{"role":"assistant","content":"4 degrees."},{"role":"user","content":"and in Rome?"}`)
	send(ask) // another conversation that begins alike
	closeTap(t, tp)
	name := tp.Sessions()[0]
	want := strings.ReplaceAll(`S: human weather in Oslo?
S: call call_1 weather
S: args call_1 {"city":"Oslo"}
S: result call_1 completed "4 C"
S: run completed
S: human and in Rome?
S: run completed
S-2: human weather in Oslo?
S-2: call call_1 weather
S-2: args call_1 {"city":"Oslo"}`, "S", name)
	if got := l.story(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
