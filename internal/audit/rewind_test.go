package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/natsserver"
	"streamer/internal/rewind"
	"streamer/internal/worker"
	"streamer/test/testkit"
)

// TestRewinds checks a partition whose input log came back shorter, on a server on which
// others publish before a worker starts. It stops, however much others store, until the log
// is repaired. Then each input that was stored since has its effect once.
func TestRewinds(t *testing.T) {
	t.Parallel()
	dir, saved := t.TempDir(), t.TempDir()
	files := filepath.Join(dir, "jetstream", "jetstream", "STREAMER", "streams", "LLM")
	opts := broker.Options{Partitions: 2}
	call := func(h *fixture, token string, n int) {
		h.publish(token, "delta", fmt.Sprintf(callDelta, n, n))
		h.wait(token, func(s events.Record) bool {
			return s.Type == events.ToolCallArgsComplete && bytes.Contains(s.Data, fmt.Appendf(nil, "call_%d", n))
		})
	}

	h := openIn(t, dir, opts)
	stop := h.work(worker.Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	a, b := "a", "b"
	if h.broker.Partition(a) == h.broker.Partition(b) {
		t.Fatal("both sessions are in one partition")
	}
	call(h, a, 1)
	call(h, b, 2)
	for _, token := range []string{a, b} { // by a flush, which must not come later and be lost
		h.wait(token, func(s events.Record) bool { return s.Type == events.MessageFinished })
	}
	stop()
	err := errors.Join(h.broker.Close(), os.CopyFS(saved, os.DirFS(files)))
	h = openIn(t, dir, opts)
	h.work(worker.Options{SnapshotEvery: time.Hour}) // which dies: only events show what was folded
	call(h, a, 3)
	call(h, a, 4)
	gone := "c" // of which no input is left
	for h.broker.Partition(gone) != h.broker.Partition(a) {
		gone += "c"
	}
	call(h, gone, 8)
	err = errors.Join(err, h.broker.Close(), os.RemoveAll(files), os.CopyFS(files, os.DirFS(saved)))
	if err != nil {
		t.Fatal(err)
	}

	h = openIn(t, dir, opts)
	if r, err := (Verification{Log: h.broker}).Run(t.Context()); err != nil || len(r.Lost) != 2 || r.Sessions != 1 || !r.Faultless() {
		t.Errorf("before it is repaired: got %+v, %v, want two sessions that lost inputs", r, err)
	}
	since := h.publish(a, "delta", fmt.Sprintf(callDelta, 5, 5)) // where call_3 was
	w, _ := h.worker(worker.Options{RecoveredEvery: 20 * time.Millisecond})
	call(h, b, 6)
	call(h, b, 7)
	if err := w.Problem(); !errors.Is(err, worker.ErrRewound) {
		t.Fatalf("problem is %v, want %v", err, worker.ErrRewound)
	}
	other, _ := h.worker(worker.Options{}) // another process, which knows only what is stored
	if err := other.Problem(); !errors.Is(err, worker.ErrRewound) {
		t.Errorf("problem of another is %v, want %v", err, worker.ErrRewound)
	}
	for _, dry := range []bool{true, false} {
		var got []rewind.Report
		err := Rewinds(t.Context(), h.broker, dry, func(p int, r *rewind.Report) {
			if p != h.broker.Partition(a) {
				t.Errorf("got partition %d, want only that of session a", p)
			}
			got = append(got, *r)
		})
		if err != nil || len(got) != 1 || got[0].Inputs != 1 || got[0].First != since {
			t.Fatalf("dry %v: got %+v, %v, want one partition with an input at %d", dry, got, err, since)
		}
	}
	if err := Rewinds(t.Context(), h.broker, false, func(p int, r *rewind.Report) { t.Errorf("again: got %+v", r) }); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the worker sees the repair", w.Problem)
	h.wait(a, func(s events.Record) bool {
		return s.Type == events.ToolCallArgsComplete && bytes.Contains(s.Data, []byte("call_5"))
	})
	starts := map[string]int{}
	err = h.broker.Events(t.Context(), a, 0, func(s events.Record) error {
		if s.Type == events.ToolCallStart {
			starts[s.ID.String()]++
		}
		return nil
	})
	if err != nil || len(starts) != 4 {
		t.Errorf("got calls %v, %v, want four, each with an id of its own", starts, err)
	}
}

// openIn opens the broker of a data directory.
func openIn(t *testing.T, dir string, opts broker.Options) *fixture {
	t.Helper()
	opts.Embed = brokertest.Embed(natsserver.Config{DataDir: dir})
	h := openBroker(t, opts)
	h.n = int(time.Now().UnixNano()) // message ids are in the log already
	return h
}
