package worker

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestMaxResident checks that at most MaxResident quiet sessions stay in memory, even
// if none of them is old, and that evicted sessions continue with their next input.
func TestMaxResident(t *testing.T) {
	const sessions, most = 60, 10
	h := open(t, broker.Options{})
	w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, KeepAcked: 20 * time.Millisecond, EvictAfter: time.Hour, MaxResident: most})
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	for i := range sessions {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
	h.until(w, "few sessions in memory, and all calls open", func(s Stats) bool { return s.Sessions <= most && s.Open == sessions })
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "result", fmt.Sprintf(result, 1))
	}
	for i := range sessions {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallResult))
	}
	if r := h.quiet(); !r.Faultless() || r.Sessions != sessions {
		t.Errorf("got %+v, want %d sessions without a fault", r, sessions)
	}
}

// TestEvictQuietest checks which sessions leave memory where there are too many:
// those without input for longest, and none whose timer is due soon.
func TestEvictQuietest(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	q := m.owners[0].q
	for i := range 6 {
		m.append(fmt.Sprint("s", i), inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
	}
	if err := m.owners[0].fold(6); err != nil {
		t.Fatal(err)
	}
	m.owners[0].settle(t)
	q.sessions.writeAll(time.Now())
	m.owners[0].settle(t)
	q.evictor.after, q.evictor.keepAcked, q.evictor.most = 24*time.Hour, time.Second, 3
	last := time.UnixMilli(int64(q.sessions.resident["s0"].state.Life.Time)).Add(-time.Hour) // no timer of theirs is due soon then
	for i := range 6 {
		q.sessions.resident[fmt.Sprint("s", i)].touched = last.Add(time.Duration(-i) * time.Minute / 6)
	}
	q.evictor.evict(last.Add(q.evictor.keepAcked))
	for i := range 6 {
		token := fmt.Sprint("s", i)
		if _, resident := q.sessions.resident[token]; resident != (i < 3) {
			t.Errorf("session %s: resident is %v, want those with the last inputs to stay", token, resident)
		}
	}
	for _, l := range q.sessions.resident {
		d, ok := q.clock.due(l)
		if !ok {
			t.Fatal("a session with an open call has no timer")
		}
		q.evictor.most = 1
		q.evictor.evict(d.next.Std().Add(-timerSoon / 2))
		break
	}
	if len(q.sessions.resident) != 3 {
		t.Errorf("%d sessions are left when their timers are due soon, want all 3", len(q.sessions.resident))
	}
}

// TestSnapshotWaitsForEvents checks that a snapshot is delayed while events of the
// session are not stored yet, but for a bounded time.
func TestSnapshotWaitsForEvents(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	q := m.owners[0].q
	for i := range 2 { // the first makes the session known
		m.owners[0].settle(t)
		q.sessions.writeAll(time.Now())
		m.owners[0].settle(t)
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, i, i))
		if err := m.owners[0].fold(1); err != nil {
			t.Fatal(err)
		}
	}
	q.reading.caughtUp = true
	began, every := q.sessions.resident["a"].snapshot.since, q.opts.SnapshotEvery
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{every + 1, 0}, {snapshotUnsent * every, 0}, {(snapshotUnsent + 1) * every, 1}} {
		q.writeDue(began.Add(c.after))
		if q.snapshots.writing != c.want {
			t.Errorf("after %v with unsent events: %d snapshots are being written, want %d", c.after, q.snapshots.writing, c.want)
		}
	}
}
