package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/natsserver"
	"streamer/internal/server"

	"github.com/rs/zerolog"
)

// TestRecordings: the inputs of every recorded session are in order of time and
// last 5 to 25 s, and none is rejected.
func TestRecordings(t *testing.T) {
	for _, name := range names() {
		inputs, err := recording(name)
		if err != nil {
			t.Fatal(err)
		}
		before := time.Duration(0)
		for i, in := range inputs {
			if in.At < before {
				t.Errorf("%s, line %d: at %s, the line before at %s", name, i+1, in.At, before)
			}
			before = in.At
		}
		if before < 5*time.Second || before > 25*time.Second {
			t.Errorf("%s lasts %s, want 5 to 25 s", name, before)
		}
		for _, e := range fold(inputs) {
			if e.Type == events.Rejected || e.Type == events.OrphanResult {
				t.Errorf("%s, line %d: %s: %+v", name, e.EventID.Seq, e.Type, e.Reason)
			}
		}
	}
}

// TestInterleaved: the args of the trip planner's parallel calls alternate.
func TestInterleaved(t *testing.T) {
	inputs, err := recording("trip-planner")
	if err != nil {
		t.Fatal(err)
	}
	turns, last := map[string]int{}, ""
	for _, e := range fold(inputs) {
		if e.Type == events.ToolCallArgsDelta && e.Call != last {
			turns[e.ToolName]++
			last = e.Call
		}
	}
	for _, tool := range []string{"search_flights", "find_hotels", "get_weather"} {
		if turns[tool] < 3 {
			t.Errorf("%s: its args came in %d turns, want at least 3", tool, turns[tool])
		}
	}
}

// promised are the features that Contents names. Each is a predicate on one event.
var promised = map[string]func(e *events.Event) bool{
	"reasoning":           func(e *events.Event) bool { return e.Type == events.AgentResponseChunk && e.Kind == "reasoning" },
	"progress":            func(e *events.Event) bool { return e.Type == events.ToolCallProgress && e.Percent != nil },
	"a tool that fails":   ended(events.Error, ""),
	"a denied call":       ended(events.Denied, ""),
	"no result":           ended(events.TimedOut, events.ByResultTimeout),
	"args cut off":        ended(events.Cancelled, events.ByCut),
	"a new human message": ended(events.Cancelled, events.ByNewMessage),
	"a stop":              ended(events.Cancelled, events.ByInterrupt),
	"a late result":       func(e *events.Event) bool { return e.Type == events.ToolCallLateResult },
	"a cut by max_tokens": func(e *events.Event) bool { return e.FinishReason == "max_tokens" },
	"invalid args": func(e *events.Event) bool {
		return e.Type == events.ToolCallArgsComplete && e.ArgsValid != nil && !*e.ArgsValid
	},
	"a large result":        func(e *events.Event) bool { return e.Type == events.ToolCallResult && e.ToolResultRef != nil },
	"a call of a sub-agent": func(e *events.Event) bool { return e.Type == events.ToolCallStart && e.ParentCall != "" },
	"a provider's tool":     func(e *events.Event) bool { return e.Type == events.ToolCallStart && e.ProviderExecuted },
	"a sub-agent":           func(e *events.Event) bool { return e.Place != nil && strings.Contains(e.Namespace, "|") },
	"a call that waits":     func(e *events.Event) bool { return e.Type == events.ToolCallAwaiting },
	"a run that waits":      func(e *events.Event) bool { return e.Type == events.RunFinished && e.Status == events.Interrupted },
	"a run that completed":  func(e *events.Event) bool { return e.Type == events.RunFinished && e.Status == events.Completed },
}

func ended(status events.Status, code events.Code) func(e *events.Event) bool {
	return func(e *events.Event) bool {
		return e.Type == events.ToolCallResult && e.Status == status && (code == "" || e.Reason != nil && e.Reason.Code == code)
	}
}

// open opens a server with short deadlines.
func open(t *testing.T, dir string) *server.Server {
	t.Helper()
	c := server.NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	r := &c.Rules.Base
	r.ArgsTimeout, r.RunIdle = lifecycle.Of(600*time.Millisecond), lifecycle.Of(time.Second)
	r.Tools = []lifecycle.ToolRule{{Pattern: "slow_*", ResultTimeout: lifecycle.Of(400 * time.Millisecond)}}
	s, err := server.Open(t.Context(), c, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestRun: the demo ends with every call closed, its summary has the number of
// calls by status, and the log has everything that Contents names.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := open(t, dir)
	if err := Run(ctx, &out, s, Options{Once: true}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	s.Close()
	want := "demo: 6 sessions, 37 calls: 27 completed, 2 timeout, 4 cancelled, 3 error, 1 denied\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant at its end\n%s", &out, want)
	}
	if !regexp.MustCompile(`^open +http://127\.0\.0\.1:\d+/#session=trip-planner-\d{6}\n`).MatchString(out.String()) {
		t.Errorf("no address to open in\n%s", &out)
	}
	for what := range unseen(t, dir) {
		t.Errorf("not in the log: %s", what)
	}
}

// TestNotAlone: the demo refuses streams whose partitions another process carries, at
// once, and runs when that process has ended.
func TestNotAlone(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	b, err := client.OpenBroker(ctx, broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})})
	if err == nil {
		defer b.Close()
		err = b.Admit()
	}
	if err == nil {
		err = b.Beat(ctx, "serve", 3*time.Second) // as a process that serves
	}
	if err != nil {
		t.Fatal(err)
	}
	c := server.NewConfig()
	c.Broker.URL, c.HTTPListen = b.OwnURL(), "127.0.0.1:0"
	s, err := server.Open(ctx, c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := Run(ctx, io.Discard, s, Options{Once: true}); err == nil || !strings.HasPrefix(err.Error(), "another streamer process holds the partitions") {
		t.Errorf("beside another process: got %v", err)
	}
	if err := errors.Join(b.Leave(ctx, "serve"), alone(ctx, s)); err != nil {
		t.Errorf("after the end of the other process: got %v", err)
	}
}

// TestRounds: a second round in the same session has the calls of the first, with
// the same ends. Its ids are others.
func TestRounds(t *testing.T) {
	for _, name := range names() {
		inputs, err := recording(name)
		if err != nil {
			t.Fatal(err)
		}
		s := part{name: name, inputs: inputs}
		once := starts(fold(inputs))
		again := slices.Clone(inputs)
		for _, in := range s.round(2) {
			in.At += 30 * time.Minute
			again = append(again, in)
		}
		twice := starts(fold(again))
		if len(once) == 0 || !slices.Equal(twice, append(slices.Clone(once), once...)) {
			t.Errorf("%s: the first round has the calls %q, both have %q", name, once, twice)
		}
	}
}

// starts returns the tools of the calls that begin in list, in order.
func starts(list []events.Event) (tools []string) {
	for _, e := range list {
		if e.Type == events.ToolCallStart {
			tools = append(tools, e.ToolName)
		}
	}
	return tools
}

// TestStart: a round of a session begins when it is watched. The first also begins with a
// key.
func TestStart(t *testing.T) {
	key := make(chan struct{})
	close(key)
	for _, c := range []struct {
		what    string
		watched string
		options Options
		round   int
		begins  bool
	}{
		{"a viewer", "s", Options{}, 1, true},
		{"a viewer of a later round", "s", Options{}, 2, true},
		{"a viewer of another session", "t", Options{}, 1, false},
		{"a key", "", Options{Key: key}, 1, true},
		{"once", "", Options{Once: true}, 1, true},
		{"nothing", "", Options{}, 1, false},
		{"a key before a later round", "", Options{Key: key}, 2, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			limit := time.Minute
			if !c.begins {
				limit = 3 * pollEvery
			}
			waiting, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			p := player{watched: func(session string) bool { return session == c.watched }}
			err := p.awaitStart(waiting, c.options, &part{name: "s"}, c.round)
			if (err == nil) != c.begins {
				t.Errorf("%s: got %v, want a beginning: %v", c.what, err, c.begins)
			}
		})
	}
}

// TestViewer: the page lists the sessions before they begin. The one that is watched
// begins, and no other; with Loop it is played again.
func TestViewer(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	var out bytes.Buffer
	go func() {
		ended <- Run(ctx, io.MultiWriter(&out, stopOn{": 4 calls: ", stop}), s, Options{Loop: true})
	}()
	<-s.Opened()
	list := read(t, s.Page()+"v1/sessions")
	if strings.Count(list, `"about":`) != len(names()) {
		t.Errorf("before the first round the list is %s, want %d sessions with what they show", list, len(names()))
	}
	name := regexp.MustCompile(`night-report-\d{6}`).FindString(list)
	if s.Watched(name) {
		t.Error("the list counts as a viewer")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Page()+"v1/sessions/"+name+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := <-ended; err != nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("the demo ended with %v, %v; want the summary of two rounds to be printed", err, ctx.Err())
	}
	if ends := regexp.MustCompile(`(?m)^.* calls: `).FindAllString(out.String(), -1); len(ends) != 2 || ends[0] != name+": 2 calls: " {
		t.Errorf("ended: %q, want two rounds of %s alone", ends, name)
	}
}

func read(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url) //nolint:noctx // the server of this test
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestStopped: a demo that is to run once and is stopped before its end fails.
// Otherwise stopping it is no failure.
func TestStopped(t *testing.T) {
	for _, once := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		err := Run(ctx, stopOn{"events", stop}, open(t, t.TempDir()), Options{Speed: 1, Once: once})
		stop()
		if (err != nil) != once {
			t.Errorf("once %v: got %v", once, err)
		}
	}
}

// stopOn is a writer that calls stop when a word is written to it.
type stopOn struct {
	word string
	stop func()
}

func (s stopOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.word)) {
		s.stop()
	}
	return len(p), nil
}

// unseen returns the promised features that the event log in dir does not have.
func unseen(t *testing.T, dir string) map[string]func(*events.Event) bool {
	b, err := client.OpenBroker(t.Context(), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: dir, Listen: "127.0.0.1:0"})})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	missing := maps.Clone(promised)
	err = b.Events(t.Context(), "", 0, func(s events.Record) error {
		if s.Type == events.Synthetic {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(s.Data, &e); err != nil {
			return err
		}
		if e.Type == events.Rejected {
			t.Errorf("rejected: %s", s.Data)
		}
		maps.DeleteFunc(missing, func(_ string, is func(*events.Event) bool) bool { return is(&e) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return missing
}

// TestOpenCalls: a demo whose calls stay open fails after a bounded time, and its
// error names the calls.
func TestOpenCalls(t *testing.T) {
	p := player{parts: []*part{{name: "s", log: callLog{expected: 2, calls: []call{{"4.0", "search", ""}}}}}}
	got := p.parts[0].log.open()
	if len(got) != 2 || got[0] != "call 4.0 of search" || got[1] != "1 calls have not begun" {
		t.Errorf("open: %q", got)
	}
	p.broker = open(t, t.TempDir()).Broker
	err := p.awaitClosed(t.Context(), p.parts[0])
	if err == nil || !strings.Contains(err.Error(), "session s: still open after") || !strings.Contains(err.Error(), "call 4.0 of search") {
		t.Errorf("got %v, want an error that names the call", err)
	}
}
