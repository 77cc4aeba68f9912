package broker

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// A publish whose answer is late is sent again unless its stream still answers those
// before it.
func TestPatience(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for _, c := range []struct {
		name     string
		answered map[uint64]time.Duration // when flights were answered
		now      time.Duration
		want     []uint64 // sent again
	}{
		{name: "no answers", now: ackWait, want: []uint64{1, 2, 3}},
		{name: "no answers yet", now: ackWait - 1},
		{name: "the stream answers in order", answered: map[uint64]time.Duration{1: ackWait - time.Second}, now: ackWait},
		{name: "the stream stopped to answer", answered: map[uint64]time.Duration{1: time.Second}, now: ackWait + time.Second, want: []uint64{2, 3}},
		{name: "an answer is missing", answered: map[uint64]time.Duration{2: ackWait - time.Second}, now: ackWait, want: []uint64{1}},
		{name: "another stream answers", answered: map[uint64]time.Duration{4: ackWait - time.Second}, now: ackWait, want: []uint64{1, 2, 3}},
		{name: "for too long", answered: map[uint64]time.Duration{1: maxPatience - 1}, now: maxPatience, want: []uint64{2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &publisher{flights: map[uint64]*flight{}, last: 4}
			for no := uint64(1); no <= 3; no++ {
				p.flights[no] = &flight{no: no, place: no, pub: new(Pub), sent: start, due: at(ackWait)}
			}
			other := &flight{no: 4, place: 4, stream: 1}
			for no, d := range c.answered {
				p.answered(cmp.Or(p.flights[no], other), at(d))
				delete(p.flights, no)
			}
			due, _ := p.due(at(c.now))
			var got []uint64
			for _, f := range due {
				got = append(got, f.no)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("sent again: got %v, want %v", got, c.want)
			}
		})
	}
}

// A publish that failed is sent again at its time, whatever its stream answers.
func TestNoPatienceAfterFailure(t *testing.T) {
	start := time.Unix(1000, 0)
	p := &publisher{flights: map[uint64]*flight{}, last: 1}
	f := &flight{no: 1, place: 1, pub: &Pub{}, sent: start, due: start.Add(time.Second), failed: true}
	p.flights[1] = f
	p.answered(&flight{}, start.Add(time.Second))
	if due, _ := p.due(start.Add(time.Second)); !slices.Equal(due, []*flight{f}) {
		t.Fatalf("got %d flights, want 1", len(due))
	}
	if due, next := p.due(f.due); len(due) != 1 || next != ackWait {
		t.Errorf("sent again: got %d flights and %v, want 1 and %v", len(due), next, ackWait)
	}
	p.answered(&flight{}, f.due)
	if due, _ := p.due(f.due.Add(1)); len(due) != 0 {
		t.Errorf("while it waits: got %d flights, want 0", len(due))
	}
}
