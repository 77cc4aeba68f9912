package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// TestDemoRecordings: every recorded session is in order of time, ends within
// the demo, and is folded without a byte of it being rejected.
func TestDemoRecordings(t *testing.T) {
	for _, name := range demoSessions {
		inputs, err := recording(name)
		if err != nil {
			t.Fatal(err)
		}
		before := int64(0)
		for i, in := range inputs {
			if in.At < before {
				t.Errorf("%s, line %d: at %d ms, the line before at %d", name, i+1, in.At, before)
			}
			before = in.At
		}
		if before < 5_000 || before > 25_000 {
			t.Errorf("%s lasts %d ms, want 5 to 25 s", name, before)
		}
		for _, e := range rehearse(name, inputs) {
			if e.Type == events.Rejected || e.Type == events.OrphanResult {
				t.Errorf("%s, line %d: %s: %+v", name, e.EventID.Seq, e.Type, e.Reason)
			}
		}
	}
}

// TestDemoInterleaved: the args of the trip planner's parallel calls arrive in
// turn, not one call after the other.
func TestDemoInterleaved(t *testing.T) {
	inputs, err := recording("trip-planner")
	if err != nil {
		t.Fatal(err)
	}
	turns, last := map[string]int{}, ""
	for _, e := range rehearse("trip-planner", inputs) {
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

// promised is what the demo's help says can be seen, each as a test of one
// event.
var promised = map[string]func(e *events.Event) bool{
	"reasoning":            func(e *events.Event) bool { return e.Type == events.AgentResponseChunk && e.Kind == "reasoning" },
	"progress":             func(e *events.Event) bool { return e.Type == events.ToolCallProgress && e.Percent != nil },
	"a tool that fails":    ended(events.Error, ""),
	"a denied call":        ended(events.Denied, ""),
	"no result":            ended(events.TimedOut, events.ByResultTimeout),
	"args cut off":         ended(events.TimedOut, events.ByArgsTimeout),
	"a new human message":  ended(events.Cancelled, events.ByNewMessage),
	"a stop":               ended(events.Cancelled, events.ByInterrupt),
	"a late result":        func(e *events.Event) bool { return e.Type == events.ToolCallLateResult },
	"a cut by max_tokens":  func(e *events.Event) bool { return e.FinishReason == "max_tokens" },
	"a provider's tool":    func(e *events.Event) bool { return e.Type == events.ToolCallStart && e.ProviderExecuted },
	"a sub-agent":          func(e *events.Event) bool { return e.Place != nil && strings.Contains(e.Namespace, "|") },
	"a call that waits":    func(e *events.Event) bool { return e.Type == events.ToolCallAwaiting },
	"a run that waits":     func(e *events.Event) bool { return e.Type == events.RunFinished && e.Status == events.Interrupted },
	"a run that completed": func(e *events.Event) bool { return e.Type == events.RunFinished && e.Status == events.Completed },
}

func ended(status events.Status, code events.Code) func(e *events.Event) bool {
	return func(e *events.Event) bool {
		return e.Type == events.ToolCallResult && e.Status == status && (code == "" || e.Reason != nil && e.Reason.Code == code)
	}
}

// TestDemo: the demo ends by itself with every call closed, its summary says
// how, and the log has everything its help promises.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code := run(ctx, stdio{strings.NewReader(""), &out, &errs}, []string{
		"demo", "--once", "--speed", "max",
		"--data-dir", dir, "--http-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--tool-timeout", "slow_*=400ms", "--args-timeout", "600ms", "--run-idle", "1s",
	})
	if code != 0 {
		t.Fatalf("exit status %d\n%s%s", code, &out, &errs)
	}
	want := "demo: 5 sessions, 28 calls: 19 completed, 3 timeout, 3 cancelled, 2 error, 1 denied\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("the demo said\n%s\nand not at its end\n%s", &out, want)
	}
	if !regexp.MustCompile(`open +http://127\.0\.0\.1:\d+/#session=trip-planner-\d{6}\n`).MatchString(out.String()) {
		t.Errorf("no address to open in\n%s", &out)
	}
	for what := range unseen(t, dir) {
		t.Errorf("not in the log: %s", what)
	}
}

// TestDemoStopped: a demo that is to be shown once and is stopped before its
// end has failed; one that a person leaves has not.
func TestDemoStopped(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{{nil, 0}, {[]string{"--once"}, exitFailed}} {
		ctx, stop := context.WithCancel(t.Context())
		args := append([]string{"demo", "--data-dir", t.TempDir(), "--http-listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0"}, c.args...)
		var errs bytes.Buffer
		got := run(ctx, stdio{strings.NewReader(""), stopOn{"events", stop}, &errs}, args)
		stop()
		if got != c.want {
			t.Errorf("demo %q, stopped: exit status %d, want %d\n%s", c.args, got, c.want, &errs)
		}
	}
}

// stopOn is an output that stops what writes a word to it.
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

// unseen gives what of promised the event log in dir does not have.
func unseen(t *testing.T, dir string) map[string]func(*events.Event) bool {
	b, err := broker.Open(t.Context(), broker.Options{DataDir: dir, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	missing := maps.Clone(promised)
	err = b.Events(t.Context(), "", 0, func(s broker.Stored) error {
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

// TestDemoOpen: a demo whose calls stay open names them and fails, after a
// bounded time.
func TestDemoOpen(t *testing.T) {
	s := stage{parts: []*part{{name: "s", ledger: ledger{expected: 2, calls: []ledgerCall{{"4.0", "search", ""}}}}}}
	got := s.parts[0].ledger.open()
	if len(got) != 2 || got[0] != "call 4.0 of search" || got[1] != "1 calls have not begun" {
		t.Errorf("open: %q", got)
	}
	b, _ := server(t, broker.Options{})
	s.broker = b
	err := s.settle(t.Context())
	if err == nil || !strings.Contains(err.Error(), "s: call 4.0 of search") {
		t.Errorf("settle: %v, want an error that names the call", err)
	}
}
