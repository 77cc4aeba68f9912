package worker

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/rs/zerolog"
)

// outdated answers some reads like a server that was disconnected from the others
// before anything was stored, and has not detected it.
type outdated struct {
	*testBroker
	heads, bounds atomic.Int32 // answers that are to be outdated
}

// Replicated reports that there are other servers.
func (o *outdated) Replicated() bool { return true }

func (o *outdated) Head(ctx context.Context, token string) (uint64, events.Record, error) {
	if o.heads.Add(-1) >= 0 {
		return 0, events.Record{}, nil
	}
	return o.testBroker.Head(ctx, token)
}

func (o *outdated) InputBounds(ctx context.Context) (first, last uint64, err error) {
	if o.bounds.Add(-1) >= 0 {
		return 1, 0, nil
	}
	return o.testBroker.InputBounds(ctx)
}

// TestOutdatedAnswers checks that answers of a deposed leader do not count as a
// loss: no partition stops, and the input log is not padded.
func TestOutdatedAnswers(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	// The snapshot is written at the end only, and the event log has all its events.
	options := Options{SnapshotEvery: time.Hour, Nonce: "one"}
	stop := h.work(options)
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	_, before, err := h.broker.InputBounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	log := &outdated{testBroker: h.broker}
	log.heads.Store(2)
	log.bounds.Store(3)
	said := new(strings.Builder)
	options.Nonce, options.PadInputs = "two", true
	w := &Worker{Log: log, Options: options, Logger: zerolog.New(zerolog.SyncWriter(said))}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0}) }()
	want := h.publish("a", "result", fmt.Sprintf(result, 1))
	h.wait("a", ofType(events.ToolCallResult))
	cancel()
	<-done
	if want != before+1 || strings.Contains(said.String(), "stopped") || strings.Contains(said.String(), "shorter") {
		t.Errorf("the result is input %d behind %d, and the worker said:\n%s", want, before, said)
	}
}
