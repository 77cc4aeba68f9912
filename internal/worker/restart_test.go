package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"

	"github.com/rs/zerolog"
)

// unreadable is a log whose checkpoints cannot be read, or whose reads wait.
type unreadable struct {
	Log
	heals atomic.Bool
	reads atomic.Int32
}

var errUnreadable = errors.New("checkpoint cannot be read")

// Epoch returns the epoch of a connection that is never lost.
func (u *unreadable) Epoch() uint64 { return 1 }

func (u *unreadable) LoadCheckpoint(ctx context.Context, _ int) (broker.Checkpoint, uint64, error) {
	u.reads.Add(1)
	if !u.heals.Load() {
		return broker.Checkpoint{}, 0, errUnreadable
	}
	<-ctx.Done()
	return broker.Checkpoint{}, 0, ctx.Err()
}

// TestFailingPartition checks that a partition that fails repeatedly is started
// after a growing pause, is logged at intervals, and is a problem with its reason
// until it has run for restartCalm.
func TestFailingPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := new(unreadable), new(strings.Builder)
		w := &Worker{Log: log, Options: Options{Nonce: "n"}, Logger: zerolog.New(out)}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.Run(ctx, []int{5}) }()
		defer func() { cancel(); <-done }()

		synctest.Wait()
		if err := w.Problem(); errors.Is(err, errUnreadable) {
			t.Errorf("after one failure: got %v, want no problem but the takeover", err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := log.reads.Load(); got < 20 || got > 30 {
			t.Errorf("in ten minutes: got %d starts, want pauses that grow to half a minute", got)
		}
		if err := w.Problem(); !errors.Is(err, errUnreadable) || !strings.Contains(err.Error(), "partition 5 failed") {
			t.Errorf("got problem %v, want the partition and %v", err, errUnreadable)
		}
		if got := strings.Count(out.String(), "partition failed; starting it again"); got < 10 || got > 22 {
			t.Errorf("got %d lines in the log, want at most one in half a minute:\n%s", got, out)
		}
		log.heals.Store(true)
		time.Sleep(restartMost + restartCalm)
		synctest.Wait()
		if err := w.Problem(); err != nil && strings.Contains(err.Error(), "failed") {
			t.Errorf("after a minute of work: got %v, want that it is over", err)
		}
	})
}

// TestFailuresInARow checks that failures are in a row unless the checkpoint moved or
// a run lasted.
func TestFailuresInARow(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	w := new(Worker)
	st := w.statuses.of(0)
	why := errors.New("why")
	run := func(d time.Duration, want int) {
		t.Helper()
		st.runs(now)
		now = now.Add(d)
		if got := st.failed(why, now); got != want {
			t.Errorf("got %d failures in a row, want %d", got, want)
		}
	}
	run(time.Second, 1)
	run(time.Second, 2)
	run(time.Second, 3)
	if w.failures(now) == nil {
		t.Error("three in a row: got no problem")
	}
	st.checkpoint.Store(7)
	if err := w.failures(now); err != nil {
		t.Errorf("the checkpoint moved: got %v, want no problem", err)
	}
	run(time.Second, 1)
	run(restartCalm, 1)
	run(time.Second, 2)
	for row, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: restartMost, 1000: restartMost} {
		if got := pauseAfter(row); got != want {
			t.Errorf("after %d failures: got a pause of %v, want %v", row, got, want)
		}
	}
}

// TestFailureNamesTheInput checks that the error of an input that cannot be folded
// names the input.
func TestFailureNamesTheInput(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	seq := h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	w := &Worker{Log: &unloadable{h.broker}, Options: Options{Nonce: "n"}, Logger: zerolog.Nop()}
	d := newDriver(t.Context(), newPartition(w, 0))
	first, err := w.takeOver(t.Context(), d.partition)
	if err == nil {
		err = d.step(first)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.table.complete = false // or the session would be taken to be new, and not be read
	err = d.step(batch{inputs: h.inputs(t.Context(), int(seq)), next: seq + 1, done: make(chan struct{}, 1)})
	if err == nil {
		_, err = d.until(t.Context().Done(), func() bool { return len(d.loads.of) == 0 })
	}
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("input %d", seq)) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v, want the input and the session", err)
	}
}

// unloadable is a log whose snapshots cannot be read.
type unloadable struct{ *testBroker }

func (unloadable) LoadSnapshot(context.Context, int, string) (broker.Snapshot, bool, error) {
	return broker.Snapshot{}, false, errUnreadable
}

// inputs reads the first n inputs of partition 0.
func (h *fixture) inputs(ctx context.Context, n int) (list []inputs.Input) {
	h.t.Helper()
	err := h.broker.Inputs(ctx, 0, 1, func(in []inputs.Input, _ uint64, _ bool) error {
		if list = append(list, in...); len(list) >= n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		h.t.Fatal(err)
	}
	return list[:n]
}
