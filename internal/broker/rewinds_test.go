package broker

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"streamer/internal/events"
)

// TestRewinds: numbers grow with sequences, behind all that was folded before,
// and lead back to where the input is stored.
func TestRewinds(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var r Rewinds
		for range 1 + rnd.IntN(4) {
			from := 1 + rnd.Uint64N(40)
			top := r.Effective(from+rnd.Uint64N(20)) + rnd.Uint64N(100)
			next := r.Add(from, top, time.Time{})
			if got := next.Effective(from); got <= top {
				t.Fatalf("seed %d: %v: input %d is numbered %d, want it behind %d", seed, next, from, got, top)
			}
			if !next.Newer(r) || r.Newer(next) {
				t.Fatalf("seed %d: %v is not newer than %v", seed, next, r)
			}
			if got, want := next.Effective(from-1), r.Effective(from-1); got != want {
				t.Fatalf("seed %d: %v: input %d is numbered %d, was %d", seed, next, from-1, got, want)
			}
			r = next
		}
		numbered := map[uint64]bool{}
		for seq, last := uint64(1), uint64(0); seq < 100; seq++ {
			n := r.Effective(seq)
			if back, ok := r.Stored(n); n <= last || back != seq || !ok {
				t.Fatalf("seed %d: %v: input %d is numbered %d behind %d, which leads to %d, %v", seed, r, seq, n, last, back, ok)
			}
			last, numbered[n] = n, true
		}
		for n := uint64(1); n < 100; n++ {
			if seq, ok := r.Stored(n); ok != numbered[n] && seq < 100 {
				t.Fatalf("seed %d: %v: number %d is of %d, %v", seed, r, n, seq, ok)
			}
		}
	}
}

// A reader stops where the log has another input in the place of the last one
// that it read, or ends before that.
func TestReaderOfARewoundLog(t *testing.T) {
	b := start(t, Options{Partitions: 1})
	fill(t, b, 5, 1, nil)
	in, ok, err := b.Input(deadline(t), 5)
	if err != nil || !ok || in.Token != "s0" || in.At.IsZero() {
		t.Fatalf("got %+v, %v, %v, want input 5", in, ok, err)
	}
	for _, c := range []struct {
		read    Witness
		rewound bool
	}{
		{Witness{}, false},
		{Witness{5, in.At}, false},
		{Witness{5, in.At.Add(time.Nanosecond)}, true},
		{Witness{3, in.At}, true},
	} {
		r := &inputReader{b: b, last: c.read.Seq, next: 6, read: c.read}
		err := r.position(deadline(t), 6)
		if _, got := errors.AsType[*InputRewoundError](err); got != c.rewound || !got && err != nil {
			t.Errorf("read %+v: got %v, want rewound %v", c.read, err, c.rewound)
		}
	}
	if seq, err := b.InputAfter(deadline(t), in.At); err != nil || seq != 6 {
		t.Errorf("after the last: got %d, %v, want 6", seq, err)
	}
	if seq, err := b.InputAfter(deadline(t), in.At.Add(-time.Hour)); err != nil || seq != 1 {
		t.Errorf("after an hour ago: got %d, %v, want 1", seq, err)
	}
}

// The ends of the event log, by session and by partition.
func TestEventEnds(t *testing.T) {
	b := start(t, Options{Partitions: 4})
	for i, token := range []string{"a", "b", "a"} {
		must(t, b, eventAfter(t, b, token, uint64(i+1)))
	}
	first, err := b.FirstEvent(deadline(t), "a")
	if err != nil || first.ID.Seq != 1 || first.Prev != 0 {
		t.Errorf("the first of a: got %+v, %v, want that of input 1", first, err)
	}
	if none, err := b.FirstEvent(deadline(t), "c"); err != nil || none.Seq != 0 {
		t.Errorf("the first of c: got %+v, %v, want none", none, err)
	}
	tops, err := b.RecentEvents(deadline(t), time.Minute)
	if err != nil || tops[b.Partition("a")].ID.Seq != 3 || tops[b.Partition("b")].ID.Seq < 2 {
		t.Errorf("the newest: got %+v, %v, want those of inputs 3 and 2", tops, err)
	}
	if top, err := b.TopEvent(deadline(t), b.Partition("a"), time.Time{}); err != nil || top.Seq != 3 {
		t.Errorf("the highest id: got %v, %v, want that of input 3", top, err)
	}
	open, err := b.OpenEvents(deadline(t))
	if err != nil || open["a"].Calls != 2 || open["b"].Calls != 1 || len(open) != 2 {
		t.Errorf("open: got %v, %v, want 2 calls of a and 1 of b", open, err)
	}
}

// eventAfter returns the append of a call's start to a session.
func eventAfter(t *testing.T, b *Broker, token string, seq uint64) *Pub {
	t.Helper()
	prev, _, err := b.ChainLast(context.Background(), token)
	if err != nil {
		t.Fatal(err)
	}
	e := events.Event{Type: events.ToolCallStart, EventID: events.ID{Seq: seq}, Call: "1.0"}
	return b.EventPub(token, &e, []byte("{}"), nil, prev)
}
