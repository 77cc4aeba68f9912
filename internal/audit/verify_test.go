package audit

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
	"streamer/internal/inputs"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go/jetstream"
)

// expiring is a log whose inputs expire whenever a read of them begins.
type expiring struct {
	*testBroker
	inputs jetstream.Stream
	first  uint64
}

func (e *expiring) AllInputs(ctx context.Context, from uint64, deliver func([]inputs.Input, uint64) error) error {
	if e.first++; e.first < 12 {
		if err := e.inputs.Purge(ctx, jetstream.WithPurgeSequence(e.first)); err != nil {
			return err
		}
	}
	return e.testBroker.AllInputs(ctx, from, deliver)
}

// TestVerifyWhileInputsExpire checks that a verification compares the remaining
// sessions where inputs expire before they are read.
func TestVerifyWhileInputsExpire(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 4})
	h.work(worker.Options{})
	for i := range 20 {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	for i := range 20 {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
	e := &expiring{h.broker, h.stream("LLM"), 5}
	r, err := Verification{Log: e}.Run(t.Context())
	if err != nil || len(r.Differences) > 0 || r.Older == 0 || r.Sessions+r.Older != 20 || r.Inputs < r.Sessions { // there may be clock inputs too
		t.Errorf("got %+v, %v, want no difference, some older sessions, and the others compared", r, err)
	}
}

// TestVerifyUnknown checks that a session that is in neither log is reported.
func TestVerifyUnknown(t *testing.T) {
	h := open(t, broker.Options{})
	h.work(worker.Options{})
	h.publish("known", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("known", ofType(events.ToolCallArgsComplete))
	r, err := Verification{Log: h.broker}.Run(t.Context(), "known", "knwon")
	if err != nil || r.Sessions != 1 || len(r.Differences) > 0 || !slices.Equal(r.Unknown, []string{"knwon"}) {
		t.Errorf("got %+v, %v, want one session compared and knwon unknown", r, err)
	}
}

// TestVerifyProgress checks that each step of a verification reports its progress
// until it is complete.
func TestVerifyProgress(t *testing.T) {
	h := open(t, broker.Options{})
	h.work(worker.Options{})
	for i := range 3 {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
	seen := map[string]Progress{}
	v := Verification{Log: h.broker, Progress: func(p Progress) { seen[p.What] = p }}
	if r, err := v.Run(t.Context()); err != nil || !r.Faultless() || r.Sessions != 3 {
		t.Fatalf("got %+v, %v, want three sessions without a fault", r, err)
	}
	for _, what := range []string{"inputs", "events"} {
		if p := seen[what]; p.Done == 0 || p.Done != p.Total {
			t.Errorf("%s: got %+v last, want all of them done", what, p)
		}
	}
}

// TestVerifyDifferences checks that each of several sessions that differ has its
// own first difference.
func TestVerifyDifferences(t *testing.T) {
	h := open(t, broker.Options{})
	stop := h.work(worker.Options{})
	for _, token := range []string{"a", "b", "c"} {
		h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait(token, ofType(events.ToolCallArgsComplete))
	}
	stop()
	for _, token := range []string{"a", "b"} {
		head, _, err := h.broker.Head(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		e := events.Event{Type: events.RunFinished, EventID: events.ID{Seq: 1, N: 99}}
		if a := h.broker.PublishWait(t.Context(), h.broker.EventPub(token, &e, []byte(`{"too":"many"}`), nil, head)); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	r, err := Verification{Log: h.broker}.Run(t.Context())
	if err != nil || len(r.Differences) != 2 || r.Sessions != 3 {
		t.Fatalf("got %+v, %v, want two of three sessions to differ", r, err)
	}
	for i, token := range []string{"a", "b"} {
		d := r.Differences[i]
		if d.Token != token || d.Want != "" || d.Place == 0 || !strings.Contains(d.Got, `{"too":"many"}`) || !strings.Contains(d.Got, "toolcalls."+token+".") {
			t.Errorf("difference %d: got %v, want the event that is too many in session %s", i, d, token)
		}
	}
}

// TestVerifySnapshots checks that sessions whose snapshots are gone or damaged
// are named, and no others.
func TestVerifySnapshots(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{})
	stop := h.work(worker.Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	tokens := []string{"damaged", "json", "missing", "older", "whole"}
	for _, token := range tokens {
		h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait(token, ofType(events.ToolCallArgsComplete))
	}
	load := func(token string) broker.Snapshot {
		s, ok, err := h.broker.LoadSnapshot(t.Context(), h.broker.Partition(token), token)
		if err != nil || !ok {
			t.Fatalf("session %s: got %v, %v, want a snapshot", token, ok, err)
		}
		return s
	}
	h.covered()
	old := load("older").Data
	for _, token := range tokens {
		h.publish(token, "result", fmt.Sprintf(result, 1))
		h.wait(token, ofType(events.ToolCallResult))
	}
	h.covered()
	stop() // which writes snapshots and checkpoints
	if r, err := (Verification{Log: h.broker}).Run(t.Context()); err != nil || !r.Faultless() {
		t.Fatalf("before anything is broken: got %+v, %v", r, err)
	}
	put := func(token string, data []byte) {
		s := load(token)
		pub, _ := h.broker.SnapshotPub(h.broker.Partition(token), token, s.Rev, s.Header, data)
		if a := h.broker.PublishWait(t.Context(), pub); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	damaged := bytes.Clone(load("damaged").Data)
	damaged[len(damaged)-1] ^= 1
	put("damaged", damaged)
	put("json", []byte(`{"state":{}}`))
	put("older", old)
	states := h.stream("KV_STREAMER_SNAPSHOT")
	if err := states.Purge(t.Context(), jetstream.WithPurgeSubject("$KV.STREAMER_SNAPSHOT.*.missing")); err != nil {
		t.Fatal(err)
	}
	r, err := Verification{Log: h.broker}.Run(t.Context())
	if err != nil || len(r.Differences) > 0 || r.Faultless() || len(r.Unreadable) != 4 {
		t.Fatalf("got %+v, %v, want no difference and four unreadable snapshots", r, err)
	}
	for i, why := range []string{"checksum", "it is no snapshot", "there is none", "it ends at input"} {
		if u := r.Unreadable[i]; u.Token != tokens[i] || !strings.Contains(u.Why, why) {
			t.Errorf("got %v, want session %s: %s", u, tokens[i], why)
		}
	}
	if err := states.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err = Verification{Log: h.broker}.Run(t.Context(), "whole")
	if err != nil || len(r.Unreadable) != 1 || r.Unreadable[0].Token != "whole" {
		t.Errorf("of a purged bucket: got %+v, %v, want the one session that was asked for", r, err)
	}
}

// TestVerifyExpiredSnapshot checks that a snapshot that expired is no fault where
// snapshots are kept for less than events.
func TestVerifyExpiredSnapshot(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{SnapshotAge: time.Second})
	stop := h.work(worker.Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	h.covered()
	stop()
	for deadline := time.Now().Add(brokertest.Within); ; {
		_, ok, err := h.broker.LoadSnapshot(t.Context(), h.broker.Partition("a"), "a")
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the snapshot did not expire: %v", err)
		}
		if !ok {
			break
		}
	}
	if r, err := (Verification{Log: h.broker}).Run(t.Context()); err != nil || !r.Faultless() || r.Sessions != 1 {
		t.Errorf("got %+v, %v, want one session without a fault", r, err)
	}
}
