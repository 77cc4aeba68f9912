package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// crowd is a log that answers reads of heads only when a number of them wait at the
// same time.
type crowd struct {
	*testBroker
	missing atomic.Int32
	all     chan struct{}
}

func newCrowd(b *testBroker, n int32) *crowd {
	c := &crowd{testBroker: b, all: make(chan struct{})}
	c.missing.Store(n)
	return c
}

func (c *crowd) Head(ctx context.Context, token string) (uint64, events.Record, error) {
	if c.missing.Add(-1) == 0 {
		close(c.all)
	}
	select {
	case <-c.all:
		return c.testBroker.Head(ctx, token)
	case <-ctx.Done():
		return 0, events.Record{}, errors.New("no other read is under way")
	}
}

// TestLoadsTogether checks that sessions are read at the same time where several are
// needed: for timers that are due, for inputs, and because their snapshots were lost.
func TestLoadsTogether(t *testing.T) {
	const sessions = 8
	h := open(t, broker.Options{Partitions: 1})
	stop := h.work(Options{})
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
	stop()
	_, last, err := h.broker.InputBounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what   string
		before func()
		do     func(*driver)
	}{
		{"timers that are due", func() {}, func(d *driver) {
			h.step(d, batch{next: last + 1, caughtUp: true, done: make(chan struct{}, 1)})
			h.step(d, timerDue(time.Now().Add(time.Hour)))
		}},
		{"inputs", func() {
			for i := range sessions {
				last = h.publish(fmt.Sprint("s", i), "result", fmt.Sprintf(result, 1))
			}
		}, func(d *driver) { h.read(d, last) }},
		{"lost snapshots", func() {
			stop := h.work(Options{})
			var list []string
			for i := range sessions { // whose calls are open
				list = append(list, fmt.Sprint("s", i))
				h.publish(list[i], "delta", fmt.Sprintf(callDelta, 2, 2))
			}
			h.covered(list...)
			h.publish("last", "delta", fmt.Sprintf(callDelta, 1, 1)) // its snapshot is the newest, and stays
			h.covered("last")
			stop()
			for i := range sessions {
				deletion := &broker.Pub{Subject: fmt.Sprint("$KV.STREAMER_SNAPSHOT.0.s", i), Header: nats.Header{"KV-Operation": {"DEL"}}}
				if a := h.broker.PublishWait(t.Context(), deletion); a.Err != nil {
					t.Fatal(a.Err)
				}
			}
		}, func(*driver) {}},
	} {
		step.before()
		log := newCrowd(h.broker, sessions)
		d := h.takeOver(log, Options{})
		step.do(d)
		end, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		ok, err := d.until(end.Done(), func() bool { return len(d.loads.of) == 0 })
		cancel()
		if !ok || err != nil || log.missing.Load() > 0 || d.table.order[live].Len() != sessions {
			t.Errorf("%s: got %v, %v and %d reads less than %d, want all", step.what, ok, err, log.missing.Load(), sessions)
		}
	}
}

// covered waits until the messages of sessions are finished, and the checkpoint is behind
// that: nothing of them is folded again.
func (h *fixture) covered(tokens ...string) {
	h.t.Helper()
	testkit.UntilTrue(h.t, "the checkpoint", func() bool {
		c, _, err := h.broker.LoadCheckpoint(h.t.Context(), 0)
		return err == nil && !slices.ContainsFunc(tokens, func(token string) bool {
			_, end, err := h.broker.Head(h.t.Context(), token)
			return err != nil || end.Type != events.MessageFinished || end.ID.Seq >= c.Seq
		})
	})
}

// hanging is a log that does not answer reads of one session's snapshot.
type hanging struct {
	*testBroker
	token string
	reads chan struct{} // is closed when the session is read first
	once  atomic.Bool
}

func (h *hanging) LoadSnapshot(ctx context.Context, p int, token string) (broker.Snapshot, bool, error) {
	if token == h.token {
		if h.once.CompareAndSwap(false, true) {
			close(h.reads)
		}
		<-ctx.Done()
		return broker.Snapshot{}, false, ctx.Err()
	}
	return h.testBroker.LoadSnapshot(ctx, p, token)
}

// TestLoadHangs checks that a session whose load gets no answer holds back no
// other session of its partition, and that the checkpoint does not pass its
// inputs: the next worker folds them.
func TestLoadHangs(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	options := Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, Nonce: "one"}
	stop := h.work(options)
	h.publish("hangs", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.publish("other", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("hangs", ofType(events.ToolCallArgsComplete))
	h.wait("other", ofType(events.ToolCallArgsComplete))
	stop()

	log := &hanging{testBroker: h.broker, token: "hangs", reads: make(chan struct{})}
	options.EvictAfter, options.MaxMemory, options.Nonce = time.Millisecond, 1, "two"
	w := &Worker{Log: log, Options: options, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0}) }()
	waits := h.publish("hangs", "result", fmt.Sprintf(result, 1))
	<-log.reads
	var last uint64
	for i := range 10 { // loads, folds, snapshots and evictions of others
		for _, token := range []string{"other", fmt.Sprint("new", i)} {
			last = h.publish(token, "delta", fmt.Sprintf(callDelta, 2+i, 2+i))
			h.wait(token, func(e events.Record) bool { return e.ID.Seq == last })
		}
	}
	h.until(w, "the input that waits counts as not folded", func(s Stats) bool {
		// An input of the clock may wait before it.
		return len(s.Carried) == 1 && s.Carried[0].Next <= waits && s.Carried[0].Checkpoint == s.Carried[0].Next
	})
	cancel()
	<-done
	if m, _, err := h.broker.LoadCheckpoint(t.Context(), 0); err != nil || m.Seq > waits {
		t.Errorf("got a checkpoint at %d, %v, want it not beyond the input that waits, %d", m.Seq, err, waits)
	}
	h.work(Options{})
	if e := h.wait("hangs", ofType(events.ToolCallResult)); e.ID.Seq != waits {
		t.Errorf("the result is event %s, want it of input %d", e.ID, waits)
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}

// TestWaitingInputs checks that the inputs of a session that is being loaded wait, in a
// bounded number of bytes, that other sessions go on, and that they are folded in order
// when it is loaded.
func TestWaitingInputs(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		o.take(t)
		o.rest(t)
		o.q.opts.EvictAfter = 1
		o.tick(t)
		o.q.lower(o.q.table.of["a"]) // its snapshot is to be read
		first := uint64(len(m.inputs) + 1)
		text := strings.Repeat("x", 1<<20)
		for range 4 {
			m.append("a", inputs.Delta, fmt.Appendf(nil, `{"id":"t","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"%s"}}]}`, text))
		}
		m.append("a", inputs.Result, fmt.Appendf(nil, result, 1))
		last := m.append("b", inputs.Delta, fmt.Appendf(nil, callDelta, 2, 2))
		o.take(t)
		if s := o.q.table.live("b"); s == nil || s.state.N != last {
			t.Errorf("session b is %+v, want it to have folded input %d", s, last)
		}
		if l := o.q.loads.of["a"]; l == nil || len(l.inputs) != 5 || !o.q.loads.full() || o.q.foldedTo() != first || o.q.uncovered() != first {
			t.Fatalf("the load is %+v, all before %d is folded; want five inputs from %d on that wait, and no more are taken", l, o.q.foldedTo(), first)
		}
		o.settle(t)
		s := o.q.table.live("a")
		if s == nil || s.state.N != last-1 || o.q.loads.full() || o.q.loads.bytes != 0 {
			t.Fatalf("session a is %+v, and %d bytes wait, want all folded", s, o.q.loads.bytes)
		}
		var ids []uint64
		for i := range m.log {
			if e := m.event(i); e.Token == "a" && e.ID.Seq >= first && (len(ids) == 0 || ids[len(ids)-1] != e.ID.Seq) {
				ids = append(ids, e.ID.Seq)
			}
		}
		if want := []uint64{first, first + 1, first + 2, first + 3, first + 4}; fmt.Sprint(ids) != fmt.Sprint(want) {
			t.Errorf("the events are of the inputs %v, want %v", ids, want)
		}
	})
}
