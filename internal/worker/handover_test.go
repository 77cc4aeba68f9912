package worker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/rs/zerolog"
)

// TestSharedHandover checks that workers that join and leave while inputs are
// stored write one log.
func TestSharedHandover(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 8})
	share := func(id string) (stop func()) {
		w := &Worker{Log: h.broker, Options: Options{Nonce: id, SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond}, Logger: zerolog.Nop()}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.RunShared(ctx, h.broker, h.broker.Partitions()) }()
		stop = func() { cancel(); <-done }
		h.t.Cleanup(stop)
		return stop
	}
	members := func(want ...string) {
		t.Helper()
		for deadline := time.Now().Add(brokertest.Within); ; {
			got, err := h.broker.Members(t.Context())
			if err == nil && slices.Equal(got, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("members are %v (%v), want %v", got, err, want)
			}
		}
	}
	round := func(n int) {
		for i := range 24 {
			h.publish(fmt.Sprintf("s%d", i), "delta", fmt.Sprintf(callDelta, n, n))
		}
		for i := range 24 {
			want := fmt.Sprintf(`"id":"call_%d"`, n)
			h.wait(fmt.Sprintf("s%d", i), func(s events.Record) bool {
				return s.Type == events.ToolCallArgsComplete && bytes.Contains(s.Data, []byte(want))
			})
		}
	}
	one := share("one")
	members("one")
	round(1)
	two := share("two")
	members("one", "two")
	round(2)
	one()
	members("two")
	round(3)
	share("three")
	members("three", "two")
	round(4)
	two()
	round(5)
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}

// TestStaleHeartbeats checks that every partition is carried although heartbeats of
// workers that have stopped never expire.
func TestStaleHeartbeats(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 8})
	for i := range 3 {
		if err := h.broker.Beat(t.Context(), fmt.Sprint("ghost", i), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 24 {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	w := &Worker{Log: h.broker, Options: Options{Nonce: "one"}, Logger: zerolog.Nop()}
	go func() { defer close(done); _ = w.RunShared(ctx, h.broker, h.broker.Partitions()) }()
	for i := range 24 {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
}

// TestForbiddenWorker checks that a client without credentials, or a trusted agent,
// is refused as a worker with the reason.
func TestForbiddenWorker(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Embed: listening(t)})
	for url, words := range map[string]string{h.broker.URL(): "has no JetStream", h.broker.AgentURL(): "no permission"} {
		b, err := openBroker(t.Context(), broker.Options{URL: url})
		if err == nil {
			b.Close()
		}
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want an error that says %q", err, words)
		}
	}
}
