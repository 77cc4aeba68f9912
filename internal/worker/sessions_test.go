package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/inputs"
)

// tallied returns an error where what a partition keeps up to date of its sessions is
// not what a count of all of them gives.
func tallied(q *partition) error {
	pos := q.reading.pos
	uncovered, open := pos, 0
	for _, s := range q.sessions.resident {
		if s.snapshot.first != 0 {
			uncovered = min(uncovered, s.snapshot.first)
		}
		if n, ok := s.log.unsent(q.history.rewinds); ok {
			uncovered = min(uncovered, n)
		}
		open += s.state.Life.Open()
	}
	for _, n := range q.sessions.open.of {
		open += n
	}
	if got := q.sessions.uncovered(pos, q.history.rewinds); got != uncovered {
		return fmt.Errorf("the first input that is not covered is %d, want %d", got, uncovered)
	}
	if got := q.sessions.open.n; got != open {
		return fmt.Errorf("%d calls are open, want %d", got, open)
	}
	return nil
}

// TestLostEventsAreUncovered checks that the checkpoint does not pass the input of an
// event that the event log lost, of a session that did not change since its snapshot.
func TestLostEventsAreUncovered(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	o := m.owners[0]
	seq := m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
	if err := o.fold(2); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds nothing to write
		o.settle(t)
		o.q.sessions.writeAll(time.Now())
	}
	if got, pos := o.q.uncovered(), o.q.reading.pos; got != pos || pos <= seq {
		t.Fatalf("the first input that is not covered is %d, want %d, after %d", got, pos, seq)
	}
	m.log = m.log[:len(m.log)-1]
	o.q.appender.readHead(context.Background(), o.q.sessions.resident["a"], nil)
	for len(o.operations) > 0 {
		o.operate()
	}
	if err := o.finish(); err != nil {
		t.Fatal(err)
	}
	if got := o.q.uncovered(); got != seq {
		t.Errorf("after a loss the first input that is not covered is %d, want %d", got, seq)
	}
	o.settle(t)
	if got, pos := o.q.uncovered(), o.q.reading.pos; got != pos {
		t.Errorf("after the event was appended again, the first input that is not covered is %d, want %d", got, pos)
	}
}
