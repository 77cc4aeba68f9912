package broker

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// A publish whose answer is late is sent again where the answer was lost, and not where
// the server is slow.
func TestLateAnswers(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		name     string
		answered map[uint64]time.Duration // when they were answered; 4 is one of another stream
		now      time.Duration
		want     []uint64 // sent again
	}{
		{name: "not late", now: ackWait - 1},
		{name: "no answers", now: ackWait, want: []uint64{1}},
		{name: "the stream answers in order", answered: map[uint64]time.Duration{1: ackWait - time.Second}, now: ackWait},
		{name: "the stream has stopped", answered: map[uint64]time.Duration{1: time.Second}, now: ackWait + time.Second, want: []uint64{2}},
		{name: "an answer is missing", answered: map[uint64]time.Duration{2: ackWait - time.Second}, now: ackWait, want: []uint64{1}},
		{name: "another stream answers", answered: map[uint64]time.Duration{4: ackWait - time.Second}, now: ackWait, want: []uint64{1}},
		{name: "too late", answered: map[uint64]time.Duration{1: maxPatience - 1}, now: maxPatience, want: []uint64{2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := lateOnes(start, 3)
			other := &inflight{no: 4, place: 4, stream: 1}
			for no, d := range c.answered {
				p.noteAnswer(cmp.Or(p.of[no], other), no, at(d))
				delete(p.of, no)
			}
			due, _ := p.due(at(c.now))
			if got := numbers(due); !slices.Equal(got, c.want) {
				t.Errorf("sent again: got %v, want %v", got, c.want)
			}
		})
	}
}

// The answer to a second try shows that the publishes sent before it are lost. That to
// its first try shows that they are not.
func TestAnswerToSecondTry(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, second := range []bool{false, true} {
		p := lateOnes(start, 3)
		now := start.Add(ackWait)
		due, next := p.due(now)
		if len(due) != 1 || next != ackWait {
			t.Fatalf("got %v and %v, want one and %v", numbers(due), next, ackWait)
		}
		f, to := due[0], p.inbox+"1"
		if second {
			to = p.replyTo(f.no, f.place)
		}
		no, place, ok := p.tryOf(to)
		if !ok || no != f.no {
			t.Fatalf("%q: got publish %d, %v, want %d", to, no, ok, f.no)
		}
		now = now.Add(time.Second)
		if poke := p.noteAnswer(f, place, now); poke != second {
			t.Errorf("the second try %v: some may be due: got %v", second, poke)
		}
		delete(p.of, no)
		want := []uint64(nil)
		if second {
			want = []uint64{2, 3}
		}
		due, _ = p.due(now)
		if got := numbers(due); !slices.Equal(got, want) {
			t.Errorf("the second try %v: sent again: got %v, want %v", second, got, want)
		}
	}
}

// A publish that failed is sent again at its time, whatever its stream answers.
func TestFailedFlight(t *testing.T) {
	start := time.Unix(1000, 0)
	p := lateOnes(start, 1)
	f := p.of[1]
	f.failed, f.due = true, start.Add(time.Second)
	p.noteAnswer(f, 1, f.due)
	if due, next := p.due(start); len(due) != 0 || next != time.Second {
		t.Errorf("before: got %v and %v, want none and 1s", numbers(due), next)
	}
	if due, _ := p.due(f.due); len(due) != 1 {
		t.Errorf("got %v, want 1", numbers(due))
	}
}

// lateOnes returns publishes in flight that were sent at a time.
func lateOnes(at time.Time, n uint64) *inflights {
	p := &inflights{b: new(Broker), of: map[uint64]*inflight{}, last: n, inbox: "inbox."}
	for no := uint64(1); no <= n; no++ {
		p.of[no] = &inflight{no: no, place: no, pub: new(Pub), sent: at, tried: at, due: at.Add(ackWait)}
	}
	return p
}

func numbers(list []*inflight) (nos []uint64) {
	for _, f := range list {
		nos = append(nos, f.no)
	}
	return nos
}
