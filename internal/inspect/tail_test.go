package inspect

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/cli"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// output collects what is written, and reports each line that contains a text.
type output struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(b)
	select {
	case o.wrote <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output contains a text.
func (o *output) await(t *testing.T, want string) {
	t.Helper()
	limit := time.After(brokertest.Within)
	for !strings.Contains(o.String(), want) {
		select {
		case <-o.wrote:
		case <-limit:
			t.Fatalf("no %q in %s", want, o)
		}
	}
}

// TestTail: a call that was open before is printed, and its end when it comes. All
// sessions are followed from now on.
func TestTail(t *testing.T) {
	b := serving(t)
	begin(t, b, "s", 10)
	await(t, b, "s", events.ToolCallArgsComplete)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	outputs := map[string]*output{}
	for name, o := range map[string]struct {
		session string
		json    bool
	}{"one": {"s", false}, "all": {"", false}, "json": {"s", true}} {
		out := &output{wrote: make(chan struct{}, 1)}
		outputs[name] = out
		wg.Go(func() {
			if err := Tail(ctx, b, Output{W: out, JSON: o.json}, o.session); ctx.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	outputs["one"].await(t, "args complete")
	// All sessions are followed as soon as the call of one of them is seen.
	for i := 0; !strings.Contains(outputs["all"].String(), "probe"); i++ {
		begin(t, b, fmt.Sprintf("probe-%d", i), 1)
		await(t, b, fmt.Sprintf("probe-%d", i), events.ToolCallArgsComplete)
	}
	// The JSON has only new events: the session is followed as soon as one is seen.
	for i := 1; !strings.Contains(outputs["json"].String(), "tool_call_progress"); i++ {
		publish(t, b, "s", inputs.Progress, fmt.Sprintf(`{"tool_call_id":"call_a","message":"step %d"}`, i))
		await(t, b, "s", events.ToolCallProgress)
	}
	publish(t, b, "s", inputs.Result, `{"tool_call_id":"call_a","content":"found"}`)
	outputs["one"].await(t, "completed")
	outputs["all"].await(t, "completed")
	outputs["json"].await(t, `"type":"tool_call_result"`)
	check(t, "one", outputs["one"].String(), []string{"running"}, []string{"probe", "\x1b"})
	check(t, "json", outputs["json"].String(), nil, []string{"probe"})
}

// TestFrame compares the drawing of open calls with a golden file.
func TestFrame(t *testing.T) {
	begin := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	at := func(s int) events.Time { return events.At(begin.Add(time.Duration(s) * time.Second)) }
	deadline := at(60)
	var calls Calls
	for _, e := range []events.Event{
		{Type: events.ToolCallStart, Session: "chat-1", Call: "1.0", ToolName: "search", Timestamp: at(0), Deadline: &deadline},
		{Type: events.ToolCallArgsComplete, Session: "chat-1", Call: "1.0", ToolName: "search", Timestamp: at(5)},
		{Type: events.ToolCallProgress, Session: "chat-1", Call: "1.0", Progress: "half \x1b[2J done", Timestamp: at(6)},
		{Type: events.ToolCallStart, Session: "chat-2", Call: "2.0", ToolName: "pay", Timestamp: at(2)},
		{Type: events.ToolCallArgsComplete, Session: "chat-2", Call: "2.0", Timestamp: at(4)},
		{Type: events.ToolCallAwaiting, Session: "chat-2", Call: "2.0", Timestamp: at(10)},
		{Type: events.ToolCallStart, Session: "聊天", Call: "3.0", Timestamp: at(19)},
		{Type: events.ToolCallResult, Session: "chat-3", Call: "9.0", Status: events.Error, Timestamp: at(19)},
		{Type: events.MessageStarted, Session: "chat-1", Timestamp: at(0)},
	} {
		if c := calls.Apply(&e); c != nil && !c.Open() {
			calls.Forget(c)
		}
	}
	now := begin.Add(20 * time.Second)
	got := strings.Join(frame(cli.Paint{}, calls.List(), now), "\n") + "\n"
	for i := range maxOpen {
		calls.Apply(&events.Event{Type: events.ToolCallStart, Session: "many", Call: fmt.Sprint(i), ToolName: "f", Timestamp: at(20)})
	}
	many := frame(cli.Paint{}, calls.List(), now)
	if last := many[len(many)-1]; len(many) != maxOpen+1 || last != "and 3 more open calls" {
		t.Errorf("got %d lines, the last %q", len(many), last)
	}
	testkit.Golden(t, "testdata/frame.txt", got)
}

// TestBar: the phases fill the bar in proportion, and each is visible.
func TestBar(t *testing.T) {
	begin := time.Unix(100, 0)
	for _, c := range []struct {
		args, running time.Duration
		want          string
	}{
		{5 * time.Second, 5 * time.Second, "░░░░░█████"},
		{time.Millisecond, 9 * time.Second, "░████████ "},
		{2 * time.Second, time.Millisecond, "░░█       "},
		{10 * time.Second, time.Millisecond, "░░░░░░░░░░"},
		{20 * time.Second, 20 * time.Second, "░░░░░░░░░░"},
		{0, 0, "          "},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) {
			call := Call{Started: begin, Complete: begin.Add(c.args), Ended: begin.Add(c.args + c.running)}
			if got := bar(cli.Paint{}, &call, begin, 10*time.Second, 10); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", c.args, c.running, got, c.want)
			}
		})
	}
}
