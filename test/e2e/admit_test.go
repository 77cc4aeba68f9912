//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// finishedCall is a delta with a call whose args are complete.
const finishedCall = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`

// eventOf waits for a session's first event of a type.
func eventOf(t *testing.T, b *client.Broker, token string, kind events.Type) (e events.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := b.Tail(ctx, token, 0, func(s events.Record, _ bool) error {
		if s.Type != kind {
			return nil
		}
		if err := json.Unmarshal(s.Data, &e); err != nil {
			return err
		}
		return errFound
	}, nil)
	if err != errFound { //nolint:errorlint // Tail returns the function's error as it is
		t.Fatalf("session %s: no %s: %v", token, kind, err)
	}
	return e
}

var errFound = errors.New("found")

// TestSettingsBeforeInputs: a process with new streams accepts no input before its
// settings are in force.
func TestSettingsBeforeInputs(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), testkit.FreePort(t)
	start(t, "serve", "--data-dir", dir, "--nats-listen", port, "--http-listen", "127.0.0.1:0", "--result-timeout", "1h")
	nc, err := nats.Connect("nats://"+port, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for i := range 20 { // over all partitions
		for {
			if _, err = js.Publish(ctx, fmt.Sprintf("llm.s%d.delta", i), []byte(finishedCall)); err == nil || ctx.Err() != nil {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := reachAny(t, ownURL(t, dir))
	for i := range 20 {
		e := eventOf(t, b, fmt.Sprintf("s%d", i), events.ToolCallArgsComplete)
		if got := e.Deadline.Std().Sub(e.Timestamp.Std()); got != time.Hour {
			t.Errorf("session s%d: the deadline is %v after the args, want 1h", i, got)
		}
	}
}

// TestDeadlineAfterOutage: a result that could not be published during an outage
// counts, although its deadline passed meanwhile.
func TestDeadlineAfterOutage(t *testing.T) {
	t.Parallel()
	const calls = 10
	dir, port := t.TempDir(), testkit.FreePort(t)
	run := func() *testkit.Process {
		return start(t, "serve", "--data-dir", dir, "--nats-listen", port, "--http-listen", "127.0.0.1:0",
			"--partitions", "4", "--result-timeout", "4s", "--save-every", "10ms", "--log-level", "warn")
	}
	p := run()
	b := reach(t, ownURL(t, dir))
	publish := func(i int, kind, body string) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		token := fmt.Sprintf("s%d", i)
		if a := b.PublishWait(ctx, b.InputPub(token, inputs.Kind(kind), token+kind, nil, []byte(body))); a.Err != nil {
			t.Errorf("session %s: %v", token, a.Err)
		}
	}
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() { publish(i, "delta", finishedCall) })
	}
	all.Wait()
	var deadline time.Time
	for i := range calls {
		e := eventOf(t, b, fmt.Sprintf("s%d", i), events.ToolCallArgsComplete)
		if e.Deadline.Std().After(deadline) {
			deadline = e.Deadline.Std()
		}
	}
	p.Kill()
	for i := range calls { // sent until they are stored, as tools do
		all.Go(func() { publish(i, "result", `{"tool_call_id":"call_1","content":"ok"}`) })
	}
	time.Sleep(time.Until(deadline.Add(time.Second))) // the outage has to outlast the deadlines
	p = run()
	all.Wait()
	for i := range calls {
		if e := eventOf(t, b, fmt.Sprintf("s%d", i), events.ToolCallResult); e.Status != events.Completed {
			t.Errorf("session s%d: the call is %s, want completed\n%s", i, e.Status, p.Log.String())
		}
	}
}
