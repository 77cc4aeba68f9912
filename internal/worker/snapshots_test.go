package worker

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// save lets the owner take and store the snapshots that are due.
func (o *modelOwner) save(t *testing.T) {
	t.Helper()
	if err := o.step(save(o.m.now)); err != nil {
		t.Fatal(err)
	}
}

// covers returns the last input and the last event that the stored snapshot of a session
// covers, zero if there is none.
func (m *model) covers(token string) snapshot.Header {
	return snapshot.ParseHeader(m.snapshots[token].header)
}

// TestSnapshotsAreBounded checks that, when many sessions change at once, the bytes of
// snapshots that are taken and not stored are bounded, and that in the end all are stored.
func TestSnapshotsAreBounded(t *testing.T) {
	t.Parallel()
	const sessions = 60
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		noise := make([]byte, 200<<10) // which cannot be compressed
		if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
			t.Fatal(err)
		}
		args := hex.EncodeToString(noise)
		for i := range sessions {
			m.append(fmt.Sprint("s", i), inputs.Delta, fmt.Appendf(nil, `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"%s"}}]},"finish_reason":null}]}`, args))
		}
		o.take(t)
		o.settle(t)
		m.pass(durableAfter)
		rounds := 0
		for ; len(m.snapshots) < sessions && rounds < sessions; rounds++ {
			o.save(t)
			if got := o.q.snapshots.bytes; got > maxTaken+1<<20 {
				t.Fatalf("round %d: %d bytes are taken, want at most about %d", rounds, got, maxTaken)
			}
			o.settle(t)
		}
		if rounds < 3 || len(m.snapshots) != sessions || o.q.snapshots.bytes != 0 {
			t.Errorf("%d rounds wrote %d snapshots, %d bytes are still counted, want all %d in several rounds, and 0", rounds, len(m.snapshots), o.q.snapshots.bytes, sessions)
		}
	})
}

// TestDurableBeforeCovered checks that a snapshot is stored only when its inputs and its
// events have been stored for DurableAfter, and a checkpoint only so long after its
// snapshots.
func TestDurableBeforeCovered(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		began := m.checkpoints[len(m.checkpoints)-1].Seq
		seq := m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		o.take(t)
		m.pass(time.Second)
		o.settle(t) // the events are stored a second after the input was read
		if len(m.log) == 0 {
			t.Fatal("no events are stored")
		}
		acked := m.now
		for m.now.Before(acked.Add(durableAfter)) {
			o.save(t)
			if len(m.snapshots) > 0 || len(o.flying) > 0 {
				t.Fatalf("a snapshot is stored %v after the event", m.now.Sub(acked))
			}
			m.pass(100 * time.Millisecond)
		}
		o.save(t)
		o.settle(t)
		if h := m.covers("a"); h.Input != seq || h.HeadSeq != uint64(len(m.log)) {
			t.Fatalf("the snapshot is %+v, want one of input %d and %d events", h, seq, len(m.log))
		}
		stored := m.now
		for m.now.Before(stored.Add(durableAfter)) {
			o.save(t)
			o.settle(t)
			if got := m.checkpoints[len(m.checkpoints)-1].Seq; got > began {
				if got > seq {
					t.Fatalf("the checkpoint covers the input %v after the snapshot", m.now.Sub(stored))
				}
			}
			m.pass(100 * time.Millisecond)
		}
		o.save(t)
		o.settle(t)
		if got := m.checkpoints[len(m.checkpoints)-1].Seq; got != seq+1 {
			t.Errorf("the checkpoint is at %d, want %d", got, seq+1)
		}
	})
}

// TestSnapshotWaitsForEvents checks that a snapshot that is taken while events of the
// session are not stored is itself stored only DurableAfter after the last of them, and
// with that as its head.
func TestSnapshotWaitsForEvents(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		seq := m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		o.take(t)
		want := len(o.q.table.live("a").log.queue)
		m.pass(time.Minute) // no event is acknowledged
		o.save(t)
		s := o.q.table.live("a")
		if w := s.snapshot.write; w == nil || !w.durable.IsZero() || want < 2 {
			t.Fatalf("the snapshot is %+v, of %d events, want one that waits for several", w, want)
		}
		o.settle(t)
		if len(m.log) != want || len(m.snapshots) > 0 {
			t.Fatalf("%d events and %d snapshots are stored, want %d and none", len(m.log), len(m.snapshots), want)
		}
		m.pass(durableAfter - 1)
		o.save(t)
		o.settle(t)
		if len(m.snapshots) > 0 {
			t.Fatal("the snapshot is stored before its last event must be on the disk")
		}
		m.pass(1)
		o.save(t)
		o.settle(t)
		last := m.event(want - 1)
		if h := m.covers("a"); h.Input != seq || h.HeadSeq != last.Seq || h.Head != last.ID {
			t.Errorf("the snapshot is %+v, want one of input %d with the head %d, event %s", h, seq, last.Seq, last.ID)
		}
		if !s.dirty() {
			t.Error("the snapshot covers the session before it must be on the disk")
		}
		m.pass(durableAfter)
		o.save(t)
		if s.dirty() {
			t.Error("the session needs another snapshot, though nothing changed since")
		}
	})
}

// TestSnapshotOfBusySession checks that inputs that arrive without a pause do not keep the
// snapshot of a session from being stored, and that it covers what was stored long enough.
func TestSnapshotOfBusySession(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		began, stored := m.now, uint64(0)
		for m.now.Before(began.Add(10 * time.Second)) {
			m.append("a", inputs.Progress, []byte(`{"tool_call_id":"none"}`))
			o.take(t)
			o.save(t)
			o.settle(t)
			if h := m.covers("a"); h.Input > stored {
				stored = h.Input
				if age := m.now.Sub(m.stored[stored-1]); age < durableAfter {
					t.Fatalf("the snapshot covers an input that was stored %v ago", age)
				}
			}
			m.pass(10 * time.Millisecond)
		}
		if o.q.status.snapshots.Load() < 2 {
			t.Errorf("%d snapshots were stored in %v, want some", o.q.status.snapshots.Load(), m.now.Sub(began))
		}
	})
}

// TestSnapshotWhileInputsArrive checks when the snapshot of a session is taken that still
// receives inputs: the first one in time, later ones seldom, and each when all of it must
// be on the disk. In a partition with many events that are not stored, all of them wait.
func TestSnapshotWhileInputsArrive(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		q := o.q
		q.snapshots.every, q.snapshots.keep = time.Second, 1500*time.Millisecond
		every, keep := q.snapshots.every, q.snapshots.keep
		s := newResident("a", new(session.State), m.now)
		q.attach(s)
		for _, c := range []struct {
			name             string
			rev              uint64
			queued           int
			changed, touched time.Duration // before now
			want             bool
		}{
			{"first, busy", 0, 0, every, 0, true},
			{"first, too early", 0, 0, every - 1, 0, false},
			{"later, busy", 1, 0, snapshotBusy*every - 1, keep - 1, false},
			{"later, busy for long", 1, 0, snapshotBusy * every, 0, true},
			{"later, quiet", 1, 0, keep, keep, true},
			{"first, busy, events queued", 0, snapshotQueued, snapshotBusy*every - 1, 0, false},
			{"first, busy for long, events queued", 0, snapshotQueued, snapshotBusy * every, 0, true},
		} {
			s.state, s.touched = new(session.State), m.now.Add(-c.touched)
			s.snapshot = coverage{rev: c.rev, first: 1, since: m.now.Add(-c.changed)}
			q.snapshots.changed.add(s)
			q.appender.queued = c.queued
			if err := o.step(tick(m.now)); err != nil {
				t.Fatal(err)
			}
			if got := s.snapshot.write != nil; got != c.want {
				t.Errorf("%s: got a write %v, want %v", c.name, got, c.want)
			}
			if s.snapshot.write != nil {
				q.snapshots.end(s.snapshot.write)
			}
		}
	})
}
