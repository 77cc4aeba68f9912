package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/rs/zerolog"
)

// gated is a log that delivers no inputs before a gate opens.
type gated struct {
	*hanging
	waits chan struct{} // is closed when inputs are asked for
	gate  chan struct{}
}

func (g *gated) Inputs(ctx context.Context, p int, from uint64, deliver func([]inputs.Input, uint64, bool) error) error {
	close(g.waits)
	select {
	case <-g.gate:
		return g.hanging.Inputs(ctx, p, from, deliver)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestStopDuringReload checks that a worker which is stopped while it loads a
// session again leaves the inputs that it had folded for that session to the next
// worker. The session was assumed to be new, another worker had stored its first
// events, and so what was folded in memory is dropped.
func TestStopDuringReload(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	log := &gated{
		hanging: &hanging{testBroker: h.broker, token: "a", reads: make(chan struct{})},
		waits:   make(chan struct{}), gate: make(chan struct{}),
	}
	second := &Worker{Log: log, Options: Options{SnapshotEvery: 10 * time.Millisecond, Nonce: "second"}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = second.Run(ctx, []int{0}) }()
	<-log.waits // it has listed the snapshots, and there is none

	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	folded := h.publish("a", "result", fmt.Sprintf(result, 1))
	close(log.gate)
	<-log.reads // its first event was refused
	cancel()
	<-done

	if m, _, err := h.broker.LoadCheckpoint(t.Context(), 0); err != nil || m.Seq > folded {
		t.Errorf("got a checkpoint at %d, %v, want none behind the input %d", m.Seq, err, folded)
	}
	h.work(Options{})
	if e := h.wait("a", ofType(events.ToolCallResult)); e.ID.Seq != folded {
		t.Errorf("the result is event %s, want it of input %d", e.ID, folded)
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}
