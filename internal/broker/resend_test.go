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
		answered map[uint64]time.Duration // when flights were answered; 4 is one of another stream
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
			p := lateFlights(start, 3)
			other := &flight{no: 4, place: 4, stream: 1}
			for no, d := range c.answered {
				p.answered(cmp.Or(p.flights[no], other), no, at(d))
				delete(p.flights, no)
			}
			due, _ := p.due(at(c.now))
			if got := numbers(due); !slices.Equal(got, c.want) {
				t.Errorf("sent again: got %v, want %v", got, c.want)
			}
		})
	}
}

// The answer to a second try shows that the flights sent before it are lost. That to
// its first try shows that they are not.
func TestAnswerToSecondTry(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, second := range []bool{false, true} {
		p := lateFlights(start, 3)
		now := start.Add(ackWait)
		due, next := p.due(now)
		if len(due) != 1 || next != ackWait {
			t.Fatalf("got flights %v and %v, want one and %v", numbers(due), next, ackWait)
		}
		f, to := due[0], p.inbox+"1"
		if second {
			to = p.replyTo(f.no, f.place)
		}
		no, place, ok := p.tryOf(to)
		if !ok || no != f.no {
			t.Fatalf("%q: got flight %d, %v, want %d", to, no, ok, f.no)
		}
		now = now.Add(time.Second)
		if poke := p.answered(f, place, now); poke != second {
			t.Errorf("the second try %v: some may be due: got %v", second, poke)
		}
		delete(p.flights, no)
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

// A flight that failed is sent again at its time, whatever its stream answers.
func TestFailedFlight(t *testing.T) {
	start := time.Unix(1000, 0)
	p := lateFlights(start, 1)
	f := p.flights[1]
	f.failed, f.due = true, start.Add(time.Second)
	p.answered(f, 1, f.due)
	if due, next := p.due(start); len(due) != 0 || next != time.Second {
		t.Errorf("before: got flights %v and %v, want none and 1s", numbers(due), next)
	}
	if due, _ := p.due(f.due); len(due) != 1 {
		t.Errorf("got flights %v, want 1", numbers(due))
	}
}

// lateFlights returns a publisher with flights that were sent at a time.
func lateFlights(at time.Time, n uint64) *publisher {
	p := &publisher{flights: map[uint64]*flight{}, last: n, inbox: "inbox."}
	for no := uint64(1); no <= n; no++ {
		p.flights[no] = &flight{no: no, place: no, pub: new(Pub), sent: at, tried: at, due: at.Add(ackWait)}
	}
	return p
}

func numbers(flights []*flight) (nos []uint64) {
	for _, f := range flights {
		nos = append(nos, f.no)
	}
	return nos
}
