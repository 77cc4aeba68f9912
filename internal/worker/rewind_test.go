package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/natsserver"
	"streamer/internal/rewind"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// directory is a data directory that brokers and workers use, one after the other.
type directory struct {
	t   *testing.T
	dir string
}

// open opens a broker until do returns.
func (d directory) open(do func(h *fixture)) {
	d.t.Helper()
	b, err := openBroker(d.t.Context(), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: d.dir}), Partitions: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	defer b.Close()
	if err := b.Admit(); err != nil {
		d.t.Fatal(err)
	}
	do(&fixture{t: d.t, broker: b})
}

// run runs a worker until do returns.
func (d directory) run(opts Options, do func(h *fixture, w *Worker)) {
	d.t.Helper()
	d.open(func(h *fixture) {
		opts.Nonce = fmt.Sprint(time.Now().UnixNano())
		opts.SnapshotEvery, opts.DurableAfter, opts.RecoveredEvery = 10*time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
		w := &Worker{Log: h.broker, Options: opts, Logger: zerolog.Nop()}
		ctx, cancel := context.WithCancel(d.t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.Run(ctx, []int{0}) }() // it ends when it is stopped
		defer func() { cancel(); <-done }()
		h.settled(w)
		do(h, w)
	})
}

// stream returns the directory of a stream.
func (d directory) stream(name string) string {
	return filepath.Join(d.dir, "jetstream", "jetstream", "STREAMER", "streams", name)
}

// saved copies the files of a stream, and returns a function that restores them.
func (d directory) saved(stream string) (restore func()) {
	d.t.Helper()
	saved, dir := d.t.TempDir(), d.stream(stream)
	if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
		d.t.Fatal(err)
	}
	return func() {
		d.t.Helper()
		if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(saved))); err != nil {
			d.t.Fatal(err)
		}
	}
}

// rewind calls do, and then restores the files of the input stream from before.
func (d directory) rewind(do func()) {
	d.t.Helper()
	restore := d.saved("LLM")
	do()
	restore()
}

// loss is a directory whose input log lost its end: the calls of two sessions are open, and
// the inputs of both are lost. One of them has no snapshot.
func loss(t *testing.T) (d directory, last uint64) {
	t.Helper()
	d = directory{t, t.TempDir()}
	d.run(Options{}, func(h *fixture, _ *Worker) {
		h.publish("before", "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait("before", ofType(events.MessageFinished)) // by a flush
	})
	d.rewind(func() {
		d.run(Options{}, func(h *fixture, _ *Worker) {
			for _, token := range []string{"saved", "unsaved"} {
				last = h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
				h.wait(token, ofType(events.ToolCallArgsComplete))
			}
		})
		d.open(func(h *fixture) {
			deletion := &broker.Pub{Subject: "$KV.STREAMER_SNAPSHOT.0.unsaved", Header: nats.Header{"KV-Operation": {"DEL"}}}
			if a := h.broker.PublishWait(t.Context(), deletion); a.Err != nil {
				t.Fatal(a.Err)
			}
		})
	})
	return d, last
}

// after checks what follows a loss of the inputs up to last.
func after(t *testing.T, h *fixture, w *Worker, last uint64) {
	t.Helper()
	e := h.wait("unsaved", ofType(events.ToolCallResult))
	if !strings.Contains(string(e.Data), `"code":"lost"`) {
		t.Errorf("the call whose input and state were lost is closed by %s", e.Data)
	}
	for _, token := range []string{"saved", "before", "unsaved", "new"} {
		seq := h.publish(token, "delta", fmt.Sprintf(callDelta, 2, 2))
		e := h.wait(token, func(e events.Record) bool {
			return e.Type == events.ToolCallArgsComplete && strings.Contains(string(e.Data), "call_2")
		})
		if seq <= last || e.ID.Seq != seq {
			t.Errorf("session %s: input %d gave event %s, want one of an input behind %d", token, seq, e.ID, last)
		}
	}
	for _, token := range []string{"saved", "before"} { // their calls are still open
		h.publish(token, "result", fmt.Sprintf(result, 1))
		if e := h.wait(token, ofType(events.ToolCallResult)); !strings.Contains(string(e.Data), `"status":"completed"`) {
			t.Errorf("session %s: the result is %s", token, e.Data)
		}
	}
	if s := w.Stats(); s.Diverged != 0 || s.Forged != 0 || w.Problem() != nil {
		t.Errorf("got %+v, problem %v", s, w.Problem())
	}
	if r := h.quiet(); len(r.Differences) > 0 || len(r.Lost) != 2 {
		t.Errorf("got %+v, want no difference, and the two sessions whose inputs were lost", r)
	}
}

// TestPaddedAfterLoss checks that an input log that came back shorter is padded, so that no
// sequence is assigned twice, that sessions with a snapshot go on, and that one whose inputs
// and state were lost has its calls closed.
func TestPaddedAfterLoss(t *testing.T) {
	t.Parallel()
	d, last := loss(t)
	d.run(Options{PadInputs: true}, func(h *fixture, w *Worker) {
		if _, end, err := h.broker.InputBounds(t.Context()); err != nil || end < last || w.Stats().Rewinds != 1 {
			t.Fatalf("the log ends at %d, %v, and %d losses are counted, want it padded to %d once", end, err, w.Stats().Rewinds, last)
		}
		after(t, h, w, last)
	})
	d.run(Options{PadInputs: true}, func(h *fixture, w *Worker) {
		if s := w.Stats(); s.Rewinds != 0 || s.Damaged != 0 || w.Problem() != nil {
			t.Errorf("the next worker: got %+v, problem %v, want that it finds no loss", s, w.Problem())
		}
		seq := h.publish("saved", "delta", fmt.Sprintf(callDelta, 3, 3))
		h.wait("saved", func(e events.Record) bool { return e.ID.Seq == seq })
	})
}

// TestStoppedAfterLoss checks that, where clients may have published since, the partition
// stops with ErrRewound, changes nothing, and goes on when the log is repaired: inputs that
// were stored at sequences that others had are stored again.
func TestStoppedAfterLoss(t *testing.T) {
	t.Parallel()
	d, last := loss(t)
	d.run(Options{}, func(h *fixture, w *Worker) {
		h.until(w, "the partition is stopped", func(s Stats) bool { return len(s.Carried) == 1 && s.Carried[0].Stopped })
		if err := w.Problem(); !errors.Is(err, ErrRewound) {
			t.Fatalf("got problem %v, want %v", err, ErrRewound)
		}
		_, heads, err := h.broker.EventBounds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		twice := h.publish("twice", "delta", fmt.Sprintf(callDelta, 1, 1))
		if twice > last {
			t.Fatalf("the input has the sequence %d, want one up to %d", twice, last)
		}
		other := &Worker{Log: h.broker, Options: Options{Nonce: "other"}, Logger: zerolog.Nop()}
		taken, err := other.takeOver(t.Context(), newPartition(other, 0))
		if !errors.Is(err, ErrRewound) {
			t.Fatalf("another worker: got %v, want %v", err, ErrRewound)
		}
		if _, end, err := h.broker.EventBounds(t.Context()); err != nil || end != heads {
			t.Fatalf("the event log ends at %d, %v, want %d as before", end, err, heads)
		}
		known := append(taken.evidence(), rewind.EventEvidence(&taken.recent.Top))
		if _, err := rewind.Repair(t.Context(), h.broker, 0, known, false); err != nil {
			t.Fatal(err)
		}
		e := h.wait("twice", ofType(events.ToolCallArgsComplete))
		if e.ID.Seq <= last {
			t.Errorf("the input that was stored since the loss gave event %s, want one of an input behind %d", e.ID, last)
		}
		h.until(w, "the partition is not stopped", func(s Stats) bool { return len(s.Carried) == 1 && !s.Carried[0].Stopped })
		if n := w.Stats().Rewinds; n != 1 {
			t.Errorf("%d losses are counted, want one, however often the partition was tried again", n)
		}
		after(t, h, w, last)
	})
}

// TestLossOnTheWay checks that an owner that takes a partition over closes a call of which an
// input was lost on the way, though the session has a snapshot, nothing tells it apart by what
// is open, and no input of the session follows.
func TestLossOnTheWay(t *testing.T) {
	d := directory{t, t.TempDir()}
	fragment := func(h *fixture, text string) {
		h.publish("cut", "delta", `{"id":"m1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,`+text+`}]}}]}`)
	}
	d.run(Options{}, func(h *fixture, _ *Worker) {
		fragment(h, `"id":"call_1","function":{"name":"f","arguments":"["}`)
		h.wait("cut", ofType(events.ToolCallArgsDelta))
	})
	snapshots, checkpoints := d.saved("KV_STREAMER_SNAPSHOT"), d.saved("KV_STREAMER_CHECKPOINT")
	d.rewind(func() {
		d.run(Options{}, func(h *fixture, _ *Worker) {
			h.n = 1 // the server knows the message id of the first
			fragment(h, `"function":{"arguments":"1"}`)
			h.wait("cut", func(e events.Record) bool { return e.Type == events.ToolCallArgsDelta && e.ID.Seq > 2 })
		})
	})
	snapshots()
	checkpoints()
	d.run(Options{PadInputs: true}, func(h *fixture, w *Worker) {
		// Before a timeout, which would load the session too.
		if e := h.await("cut", 30*time.Second, ofType(events.ToolCallResult)); !strings.Contains(string(e.Data), `"code":"lost"`) {
			t.Errorf("the call is closed by %s, want it closed as lost", e.Data)
		}
	})
}

// TestLossOfTwoOwners checks that, where an owner went on behind events of lost inputs that
// leave nothing open, another owner finds where these end.
func TestLossOfTwoOwners(t *testing.T) {
	t.Parallel()
	d := directory{t, t.TempDir()}
	d.run(Options{}, func(*fixture, *Worker) {})
	d.rewind(func() {
		d.run(Options{}, func(h *fixture, _ *Worker) {
			h.publish("orphan", "result", fmt.Sprintf(result, 1))
			h.wait("orphan", ofType(events.OrphanResult))
		})
		d.open(func(h *fixture) {
			deletion := &broker.Pub{Subject: "$KV.STREAMER_SNAPSHOT.0.orphan", Header: nats.Header{"KV-Operation": {"DEL"}}}
			if a := h.broker.PublishWait(t.Context(), deletion); a.Err != nil {
				t.Fatal(a.Err)
			}
		})
	})
	d.open(func(h *fixture) {
		// Neither writes a snapshot, so that the second folds what the first folded.
		opts := Options{PadInputs: true, SnapshotEvery: 10 * time.Millisecond, DurableAfter: time.Hour}
		h.work(opts)
		h.publish("orphan", "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait("orphan", ofType(events.ToolCallArgsComplete))
		opts.Nonce = "second"
		second := &Worker{Log: h.broker, Options: opts, Logger: zerolog.Nop()}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = second.Run(ctx, []int{0}) }()
		h.settled(second)
		last := h.publish("orphan", "result", fmt.Sprintf(result, 1))
		h.until(second, "the result is folded", func(s Stats) bool { return len(s.Carried) == 1 && s.Carried[0].Next > last })
		if e := h.wait("orphan", ofType(events.ToolCallResult)); !strings.Contains(string(e.Data), `"status":"completed"`) {
			t.Errorf("the call is closed by %s", e.Data)
		}
		cancel()
		<-done
		if s := second.Stats(); s.Diverged > 0 || s.Forged > 0 {
			t.Errorf("the second owner: got %+v, want the events of the first", s)
		}
	})
}

// TestInputMissing checks that each call ends once where one input of a session is missing
// among others that are there, and its state must be folded from them.
func TestInputMissing(t *testing.T) {
	t.Parallel()
	d := directory{t, t.TempDir()}
	var missing uint64
	d.run(Options{}, func(h *fixture, _ *Worker) {
		h.publish("s", "delta", fmt.Sprintf(callDelta, 1, 1))
		missing = h.publish("s", "delta", fmt.Sprintf(callDelta, 2, 2))
		h.publish("s", "result", fmt.Sprintf(result, 1))
		h.wait("s", ofType(events.ToolCallResult))
	})
	d.open(func(h *fixture) {
		if err := h.broker.DeleteInput(t.Context(), missing); err != nil {
			t.Fatal(err)
		}
		deletion := &broker.Pub{Subject: "$KV.STREAMER_SNAPSHOT.0.s", Header: nats.Header{"KV-Operation": {"DEL"}}}
		if a := h.broker.PublishWait(t.Context(), deletion); a.Err != nil {
			t.Fatal(a.Err)
		}
	})
	d.run(Options{PadInputs: true}, func(h *fixture, w *Worker) {
		h.n = 10 // the server knows the message ids of the first
		h.publish("s", "delta", fmt.Sprintf(callDelta, 3, 3))
		h.publish("s", "result", fmt.Sprintf(result, 3))
		h.wait("s", func(e events.Record) bool {
			return e.Type == events.ToolCallResult && strings.Contains(string(e.Data), "call_3")
		})
		results := map[string]int{}
		err := h.broker.Events(t.Context(), "s", 0, func(e events.Record) error {
			if e.Type == events.ToolCallResult {
				results[gjson.GetBytes(e.Data, "id").Str]++
			}
			return nil
		})
		if want := map[string]int{"call_1": 1, "call_2": 1, "call_3": 1}; err != nil || !maps.Equal(results, want) {
			t.Errorf("results by call: got %v, %v, want %v", results, err, want)
		}
	})
}
