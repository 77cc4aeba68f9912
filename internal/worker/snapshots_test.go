package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/session"
)

// TestSnapshotsAreBounded checks that, when many sessions change at once, the bytes
// of snapshots under way are bounded, and that in the end all are written.
func TestSnapshotsAreBounded(t *testing.T) {
	const sessions = 60
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	o := m.owners[0]
	noise := make([]byte, 200<<10) // which cannot be compressed
	if _, err := rand.NewChaCha8([32]byte{}).Read(noise); err != nil {
		t.Fatal(err)
	}
	args := hex.EncodeToString(noise)
	for i := range sessions {
		m.append(fmt.Sprint("s", i), inputs.Delta, fmt.Appendf(nil, `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"%s"}}]},"finish_reason":null}]}`, args))
	}
	if err := o.fold(sessions + 1); err != nil {
		t.Fatal(err)
	}
	for range sessions { // the first event of each shows that the session is new
		o.arriveOnce(t)
	}
	rounds := 0
	for left := true; left; rounds++ {
		left = o.q.sessions.writeAll(time.Now())
		if got := o.q.snapshots.bytes; got > maxWriting+1<<20 || left && got < maxWriting {
			t.Fatalf("round %d: %d bytes are under way, left %v, want at most about %d", rounds, got, left, maxWriting)
		}
		for o.q.snapshots.writing > 0 {
			for len(o.flying) > 0 {
				o.arrive()
			}
			o.operate()
			if err := errors.Join(o.finish(), o.receive()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rounds < 3 || len(m.snapshots) != sessions || o.q.snapshots.bytes != 0 {
		t.Errorf("%d rounds wrote %d snapshots, %d bytes are still counted, want all %d in several rounds, and 0", rounds, len(m.snapshots), o.q.snapshots.bytes, sessions)
	}
}

// arriveOnce lets one publish be stored and its outcome be delivered.
func (o *modelOwner) arriveOnce(t *testing.T) {
	t.Helper()
	for len(o.acks) == 0 {
		o.arrive()
	}
	if err := o.receive(); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotBeforeEvents checks that a session whose snapshot was written
// while its events were on their way gets another one when they are stored, so
// that no listing loads it. Where the worker died before, one listing does.
func TestSnapshotBeforeEvents(t *testing.T) {
	for _, died := range []bool{false, true} {
		t.Run(fmt.Sprint("died=", died), func(t *testing.T) {
			m := newModel(1, true)
			m.todo = nil
			if err := m.birth(0); err != nil {
				t.Fatal(err)
			}
			o := m.owners[0]
			m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
			if err := o.fold(2); err != nil {
				t.Fatal(err)
			}
			o.arriveOnce(t) // the first event shows that the session is new
			o.q.sessions.writeAll(time.Now())
			o.settle(t)
			o.q.evictor.evict(time.Now().Add(time.Hour))
			if o.q.sessions.resident["a"] == nil {
				t.Fatal("the session left memory before its snapshot was written again")
			}
			if died {
				if err := m.birth(0); err != nil {
					t.Fatal(err)
				}
				o = m.owners[0]
			} else {
				o.q.sessions.writeAll(time.Now())
				o.settle(t)
			}
			for i, want := range []bool{died, false} {
				o.q.evictor.evict(time.Now().Add(time.Hour))
				m.past = nil // listings are fresh
				list := listingOf(t, o.q)
				if len(list.open) != 1 || list.open[0].lacking != want {
					t.Fatalf("listing %d: got %+v, want one session, lacking %v", i, list.open, want)
				}
				o.q.listed(context.Background(), list)
				o.settle(t)
			}
		})
	}
}

// settle delivers all messages that the owner published, and their outcomes.
func (o *modelOwner) settle(t *testing.T) {
	t.Helper()
	if err := o.drain(); err != nil {
		t.Fatal(err)
	}
}

// save writes the snapshots of all sessions that changed, and the checkpoint.
func (o *modelOwner) save(t *testing.T) {
	t.Helper()
	o.settle(t)
	o.q.sessions.writeAll(o.m.now.AddDate(1000, 0, 0))
	o.settle(t)
	o.q.advance(t.Context())
	o.settle(t)
}

// TestSnapshotWhileInputsArrive checks when the snapshot of a session is written that
// still receives inputs: the first one in time, later ones seldom, and each soon
// after the last input. In a partition with many unsent events all of them wait.
func TestSnapshotWhileInputsArrive(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	o := m.owners[0]
	o.settle(t)
	q := o.q
	q.reading.caughtUp = true
	s := &resident{token: "a"}
	q.sessions.resident["a"] = s
	every, began := q.opts.SnapshotEvery, time.Now()
	for _, c := range []struct {
		name             string
		rev              uint64
		queued           int
		changed, touched time.Duration // before now
		want             bool
	}{
		{"first, busy", 0, 0, every, 0, true},
		{"first, too early", 0, 0, every - 1, 0, false},
		{"later, busy", 1, 0, snapshotBusy*every - 1, every - 1, false},
		{"later, busy for long", 1, 0, snapshotBusy * every, 0, true},
		{"later, quiet", 1, 0, every, every, true},
		{"quiet, events queued", 1, snapshotQueued, snapshotBusy*every - 1, every, false},
		{"quiet for long, events queued", 1, snapshotQueued, snapshotBusy * every, every, true},
	} {
		s.state = new(session.State)
		s.touched = began.Add(-c.touched)
		s.snapshot = coverage{rev: c.rev, first: 1, since: began.Add(-c.changed)}
		q.snapshots.changed.add(s)
		q.appender.queued = c.queued
		q.writeDue(began)
		if got := s.snapshot.write != nil; got != c.want {
			t.Errorf("%s: got a write %v, want %v", c.name, got, c.want)
		}
		if s.snapshot.write != nil {
			q.snapshots.end(s.snapshot.write)
		}
	}
}
