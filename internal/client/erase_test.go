package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"
	"streamer/internal/snapshot"
	"streamer/internal/worker"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

// eraser is a broker with a server of its own, of which sessions are erased.
type eraser struct {
	*testing.T
	b *Broker
	n int
}

func newEraser(t *testing.T) *eraser {
	t.Helper()
	b, err := OpenBroker(brokertest.Deadline(t), broker.Options{Partitions: 2, Embed: brokertest.Embed(natsserver.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})})
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &eraser{T: t, b: b}
}

// work runs a worker until the returned function is called.
func (e *eraser) work() (stop func()) {
	e.Helper()
	e.n++
	w := &worker.Worker{Log: e.b, Logger: zerolog.Nop(), Options: worker.Options{
		SnapshotEvery: time.Millisecond, DurableAfter: time.Millisecond, Nonce: fmt.Sprint(e.n),
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0, 1}) }()
	stop = func() { cancel(); <-done }
	e.Cleanup(stop)
	if err := w.WaitSettled(brokertest.Deadline(e), 2); err != nil {
		e.Fatal(err)
	}
	return stop
}

// call publishes a call with args of a size and its result, and waits for that.
func (e *eraser) call(session, id, args string) {
	e.Helper()
	e.publish(session, inputs.Delta, fmt.Sprintf(`{"type":"AIMessageChunk","id":"m-%s","tool_call_chunks":[{"index":0,"id":%q,"name":"save","args":"{\"text\":\"%s\"}"}],"chunk_position":"last"}`, id, id, args))
	seq := e.publish(session, inputs.Result, fmt.Sprintf(`{"tool_call_id":%q,"content":"saved"}`, id))
	e.await(session, func(r events.Record) bool { return r.Type == events.ToolCallResult && r.ID.Seq == seq })
}

func (e *eraser) publish(session string, kind inputs.Kind, data string) uint64 {
	e.Helper()
	e.n++
	seq, _, err := e.b.Append(brokertest.Deadline(e), session, kind, fmt.Sprint("in-", e.n), nil, []byte(data))
	if err != nil {
		e.Fatal(err)
	}
	return seq
}

func (e *eraser) await(session string, match func(events.Record) bool) {
	e.Helper()
	err := e.b.Tail(brokertest.Deadline(e), session, 0, func(r events.Record, _ bool) error {
		if r.Seq > 0 && match(r) {
			return errComplete
		}
		return nil
	}, nil)
	if !errors.Is(err, errComplete) {
		e.Fatalf("session %s: the event did not come: %v", session, err)
	}
}

// erase erases a session without regard to the age of chunks.
func (e *eraser) erase(session string) gateway.Erased {
	e.Helper()
	s := erasure{Broker: e.b, token: session}
	if err := s.run(brokertest.Deadline(e)); err != nil {
		e.Fatal(err)
	}
	return s.done
}

// left returns what is stored of a session: the types of its events and the kinds of its
// inputs.
func (e *eraser) left(session string) (list []string) {
	e.Helper()
	err := e.b.SessionInputs(brokertest.Deadline(e), session, 0, func(in *inputs.Input) error {
		list = append(list, string(in.Kind))
		return nil
	})
	if err == nil {
		err = e.b.Events(brokertest.Deadline(e), session, 0, func(r events.Record) error {
			list = append(list, string(r.Type))
			return nil
		})
	}
	if err != nil {
		e.Fatal(err)
	}
	return list
}

func (e *eraser) verify() {
	e.Helper()
	r, err := audit.Verification{Log: e.b}.Run(brokertest.Deadline(e))
	if err != nil || !r.Faultless() || len(r.Lost) > 0 {
		e.Errorf("verify: %+v, %v", r, err)
	}
}

// TestErase: what is stored of a session is gone, what other sessions have too stays, and
// the session begins anew, also for a worker that takes over.
func TestErase(t *testing.T) {
	e := newEraser(t)
	stop := e.work()
	shared, own := strings.Repeat("a", 100<<10), strings.Repeat("b", 100<<10)
	e.call("gone", "c1", shared)
	e.call("gone", "c2", own)
	e.call("stays", "c3", shared)
	got := e.erase("gone")
	if got.Inputs < 4 || got.Events < 8 || got.Chunks < 2 {
		t.Errorf("got %+v, want at least 4 inputs, all events and the chunks of one value", got)
	}
	want := []string{"erase", "session_erased"}
	if left := e.left("gone"); !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
	e.verify() // which reads the values of the other session
	list, err := e.b.Sessions(t.Context(), 9)
	if err != nil || len(list) != 1 || list[0].Session != "stays" {
		t.Errorf("sessions: %v, %v; want the other one", list, err)
	}
	stop()
	e.work()
	e.call("gone", "c1", "new")
	if left := e.left("gone"); len(left) < 8 || !slices.Equal(left[:1], want[:1]) || slices.Contains(left, "rejected") {
		t.Errorf("after a new call: %v", left)
	}
	e.verify()
	if again := e.erase("gone"); again.Inputs < 3 || again.Chunks != 0 {
		t.Errorf("again: got %+v, want at least the erasure before and two inputs", again)
	}
	e.verify()
}

// TestEraseDuringVerify: an erasure beside a verification is no difference.
func TestEraseDuringVerify(t *testing.T) {
	e := newEraser(t)
	e.work()
	e.call("s", "c1", "x")
	e.call("t", "c2", "y")
	once := sync.OnceFunc(func() { e.erase("s") })
	r, err := audit.Verification{Log: e.b, Progress: func(p audit.Progress) {
		if p.What == "inputs" && p.Done == p.Total {
			once()
		}
	}}.Run(brokertest.Deadline(t))
	if err != nil || !r.Faultless() {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if left := e.left("s"); len(left) != 2 {
		t.Errorf("left: %v; it was not erased meanwhile", left)
	}
}

// TestEraseNothing: nothing is stored for a session that is unknown.
func TestEraseNothing(t *testing.T) {
	e := newEraser(t)
	if got := e.erase("unknown"); got != (gateway.Erased{}) || len(e.left("unknown")) > 0 {
		t.Errorf("got %+v, and %v is stored", got, e.left("unknown"))
	}
}

// TestEraseWithoutWorker: without a worker nothing is deleted, and the erasure is completed
// when it is repeated.
func TestEraseWithoutWorker(t *testing.T) {
	e := newEraser(t)
	stop := e.work()
	e.call("s", "c1", "x")
	stop()
	before := e.left("s")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := e.b.Erase(ctx, "s"); err == nil || !strings.Contains(err.Error(), "nothing is erased yet") {
		t.Errorf("got %v", err)
	}
	if left := e.left("s"); len(left) != len(before)+1 {
		t.Errorf("left: %v, want the erasure besides %v", left, before)
	}
	e.work()
	e.erase("s")
	if left := e.left("s"); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	e.verify()
}

// TestEraseInTheMiddle: wherever an erasure ends, a worker that takes over finds no fault.
func TestEraseInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(e *erasure) error
	}{
		{"before the snapshot", func(*erasure) error { return nil }},
		{"before the inputs", func(s *erasure) error {
			_, err := s.EraseEvents(context.Background(), s.token, s.event)
			return err
		}},
		{"before the events", func(s *erasure) error {
			_, err := s.EraseInputs(context.Background(), s.token, s.seq)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEraser(t)
			stop := e.work()
			e.call("s", "c1", "x")
			s := erasure{Broker: e.b, token: "s"}
			if err := s.begin(brokertest.Deadline(t)); err != nil {
				t.Fatal(err)
			}
			stop()
			if err := c.end(&s); err != nil {
				t.Fatal(err)
			}
			e.work()
			e.call("s", "c2", "y")
			e.verify()
			e.erase("s")
			if left := e.left("s"); len(left) != 2 {
				t.Errorf("left: %v", left)
			}
			e.verify()
		})
	}
}

// TestEraseFirst: the event log may begin with the erased session. A worker folds on from the
// erasure without a snapshot.
func TestEraseFirst(t *testing.T) {
	e := newEraser(t)
	stop := e.work()
	e.call("s", "c1", "x")
	e.erase("s")
	stop()
	stop = e.work()
	seq := e.publish("s", inputs.Delta, `{"type":"AIMessageChunk","id":"m","tool_call_chunks":[{"index":0,"id":"c2","name":"save","args":"{}"}],"chunk_position":"last"}`)
	e.await("s", func(r events.Record) bool { return r.Type == events.ToolCallArgsComplete && r.ID.Seq == seq })
	stop()
	if _, err := e.b.Purge(t.Context(), "KV_STREAMER_SNAPSHOT", ">", 0); err != nil {
		t.Fatal(err)
	}
	e.work()
	seq = e.publish("s", inputs.Result, `{"tool_call_id":"c2","content":"saved"}`)
	e.await("s", func(r events.Record) bool { return r.Type == events.ToolCallResult && r.ID.Seq == seq })
	e.verify()
}

// TestEraseHeld: the error for a session that is held says so, and nothing is stored.
func TestEraseHeld(t *testing.T) {
	e := newEraser(t)
	h := snapshot.Header{Held: "its inputs are gone"}
	pub, _ := e.b.SnapshotPub(e.b.Partition("s"), "s", 0, h.Map(), nil)
	if a := e.b.PublishWait(t.Context(), pub); a.Err != nil {
		t.Fatal(a.Err)
	}
	if _, err := e.b.Erase(brokertest.Deadline(t), "s"); err == nil || !strings.Contains(err.Error(), "held") || len(e.left("s")) > 0 {
		t.Errorf("got %v, and %v is stored", err, e.left("s"))
	}
}

// TestEraseTwice: of two erasures at once, the later may delete the event of the earlier
// before that sees it.
func TestEraseTwice(t *testing.T) {
	e := newEraser(t)
	e.work()
	e.call("s", "c1", "x")
	first, second := erasure{Broker: e.b, token: "s"}, erasure{Broker: e.b, token: "s"}
	var err error
	if first.seq, err = first.publish(brokertest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	if err := second.run(brokertest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	if err := first.await(brokertest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	if first.event != second.event {
		t.Errorf("the erasures end at the events %d and %d", first.event, second.event)
	}
}

// TestEraseUnreferenced: a chunk must be old when the reading of the references begins: its
// event may be stored while they are read.
func TestEraseUnreferenced(t *testing.T) {
	saved := time.Now()
	for _, c := range []struct {
		name    string
		stored  time.Duration // after the snapshot
		read    time.Duration
		deleted bool
		wait    time.Duration
	}{
		{"old", -2 * time.Minute, 0, true, 0},
		{"new", -20 * time.Second, 0, false, 40 * time.Second},
		{"old meanwhile", -20 * time.Second, 50 * time.Second, true, 0},
		{"after the snapshot", time.Second, 2 * time.Minute, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := erasure{keep: time.Minute, saved: saved}
			if deleted, wait := e.unreferenced(broker.Chunk{At: saved.Add(c.stored)}, saved.Add(c.read)); deleted != c.deleted || wait != c.wait {
				t.Errorf("got %t, wait %v", deleted, wait)
			}
		})
	}
}

// TestEraseCheckpoints: where the input log begins with the session, an erasure waits for
// the checkpoints of all partitions, and otherwise for none.
func TestEraseCheckpoints(t *testing.T) {
	e := newEraser(t)
	await := func(session string, seq uint64, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		s := erasure{Broker: e.b, token: session, seq: seq}
		return s.awaitCheckpoints(ctx)
	}
	e.publish("s", inputs.Result, "{}")
	last := e.publish("t", inputs.Result, "{}")
	if err := await("s", last, time.Minute); err != nil {
		t.Errorf("without checkpoints: %v", err)
	}
	for p, want := range []string{"the checkpoint of partition 0 is 1", "the checkpoint of partition 1 is 1"} {
		_, rev, err := e.b.LoadCheckpoint(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if rev, err = e.b.WriteCheckpoint(t.Context(), p, broker.Checkpoint{Seq: 1}, rev); err != nil {
			t.Fatal(err)
		}
		if err := await("s", last, time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := await("t", last, time.Minute); err != nil {
			t.Errorf("not the first session: %v", err)
		}
		if _, err = e.b.WriteCheckpoint(t.Context(), p, broker.Checkpoint{Seq: last}, rev); err != nil {
			t.Fatal(err)
		}
	}
	if err := await("s", last, time.Minute); err != nil {
		t.Errorf("at the erasure: %v", err)
	}
}

// TestEraseDamaged: a damaged snapshot is one that the worker has not replaced yet.
func TestEraseDamaged(t *testing.T) {
	e := newEraser(t)
	subject := fmt.Sprintf("$KV.STREAMER_SNAPSHOT.%d.s", e.b.Partition("s"))
	if a := e.b.PublishWait(t.Context(), &broker.Pub{Subject: subject, Data: []byte("x")}); a.Err != nil {
		t.Fatal(a.Err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	s := erasure{Broker: e.b, token: "s", seq: 1}
	if err := s.awaitSnapshot(ctx); err == nil || !strings.Contains(err.Error(), "does not cover input 1") {
		t.Errorf("got %v", err)
	}
}

// TestEraseResumed: an erasure that was cut short anywhere is found by its record and
// completed by another process, and what came since stays. Until then the session is listed.
func TestEraseResumed(t *testing.T) {
	all := func(int) bool { return true }
	for _, c := range []struct {
		name   string
		begin  func(s *erasure, ctx context.Context) error
		stored bool // the input of the erasure
	}{
		{"before the input", func(s *erasure, ctx context.Context) (err error) {
			s.record, err = s.BeginErasure(ctx, s.token)
			return err
		}, false},
		{"before the event", func(s *erasure, ctx context.Context) (err error) {
			if s.record, err = s.BeginErasure(ctx, s.token); err == nil {
				_, err = s.publish(ctx)
			}
			return err
		}, true},
		{"before the snapshot", (*erasure).begin, true},
		{"before the inputs", func(s *erasure, ctx context.Context) error {
			err := s.begin(ctx)
			if err == nil {
				_, err = s.EraseEvents(ctx, s.token, s.event)
			}
			return err
		}, true},
		{"before the large values", func(s *erasure, ctx context.Context) error {
			return s.remove(ctx)
		}, true},
	} {
		for _, since := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " since=", since), func(t *testing.T) {
				e := newEraser(t)
				stop := e.work()
				e.call("s", "c1", "x")
				if err := c.begin(&erasure{Broker: e.b, token: "s"}, brokertest.Deadline(t)); err != nil {
					t.Fatal(err)
				}
				stop()
				e.work()
				if since {
					e.call("s", "c2", "y")
				}
				e.listed("s", true)
				if n, err := e.b.Resume(brokertest.Deadline(t), all, time.Time{}); n != 0 || err != nil {
					t.Errorf("an erasure that its process may complete: %d, %v", n, err)
				}
				n, err := e.b.Resume(brokertest.Deadline(t), all, time.Now().Add(time.Hour))
				if err != nil || (n == 1) != c.stored {
					t.Errorf("resumed: %d, %v", n, err)
				}
				left := e.left("s")
				if erased := !slices.Contains(left[:1], "delta"); erased != c.stored || since != slices.Contains(left, "tool_call_result") && c.stored {
					t.Errorf("left: %v", left)
				}
				e.listed("s", since || !c.stored)
				if list, err := e.b.Erasures(t.Context()); err != nil || len(list) > 0 {
					t.Errorf("records are left: %v, %v", list, err)
				}
				e.verify()
			})
		}
	}
}

func (e *eraser) listed(session string, want bool) {
	e.Helper()
	testkit.UntilTrue(e.T, "the list of sessions", func() bool { // the snapshot follows the events
		list, err := e.b.Sessions(e.Context(), 9)
		return err == nil && want == slices.ContainsFunc(list, func(s gateway.SessionInfo) bool { return s.Session == session })
	})
}

// TestEraseRecords: the completion of one erasure of a session does not remove the record of
// another that is cut short; and a damaged record is one of an erasure.
func TestEraseRecords(t *testing.T) {
	e := newEraser(t)
	e.work()
	e.call("s", "c1", "x")
	first, second := &erasure{Broker: e.b, token: "s"}, &erasure{Broker: e.b, token: "s"}
	for _, s := range []*erasure{first, second} {
		if err := s.begin(brokertest.Deadline(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.b.EndErasure(t.Context(), first.record); err != nil {
		t.Fatal(err)
	}
	if list, err := e.b.Erasures(t.Context()); err != nil || !list["s"] {
		t.Errorf("records: %v, %v; want that of the second", list, err)
	}
	for i, data := range []string{"", "x", "{}"} {
		e.call("s", fmt.Sprint("new-", i), "y")
		if a := e.b.PublishWait(t.Context(), &broker.Pub{Subject: "$KV.STREAMER_CHECKPOINT.erasure.s", Data: []byte(data)}); a.Err != nil {
			t.Fatal(a.Err)
		}
		if data == "x" {
			e.erase("s")
		} else if _, err := e.b.Resume(brokertest.Deadline(t), func(int) bool { return true }, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if list, err := e.b.Erasures(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("after the record %q: records are left: %v, %v", data, list, err)
		}
		e.verify()
	}
}

// TestHalfErased: a verification names a session of which something is left, and no other.
func TestHalfErased(t *testing.T) {
	e := newEraser(t)
	e.work()
	for _, session := range []string{"whole", "events", "inputs", "new"} {
		e.call(session, "c-"+session, "x")
	}
	e.erase("whole")
	for session, purge := range map[string]func(s *erasure) (int, error){
		"events": func(s *erasure) (int, error) { return s.EraseInputs(t.Context(), s.token, s.seq) },
		"inputs": func(s *erasure) (int, error) { return s.EraseEvents(t.Context(), s.token, s.event) },
	} {
		s := &erasure{Broker: e.b, token: session}
		if err := s.begin(brokertest.Deadline(t)); err != nil {
			t.Fatal(err)
		}
		if _, err := purge(s); err != nil {
			t.Fatal(err)
		}
	}
	r, err := audit.Verification{Log: e.b}.Run(brokertest.Deadline(t))
	if err != nil || !r.Faultless() || !slices.Equal(r.Half, []string{"events", "inputs"}) {
		t.Errorf("verify: %+v, %v", r, err)
	}
	var out strings.Builder
	if r.Print(&out); !strings.Contains(out.String(), "session events: half erased") || !strings.Contains(out.String(), "2 sessions are half erased") {
		t.Errorf("printed: %s", out.String())
	}
}
