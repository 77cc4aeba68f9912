package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/inputs"
)

// covered returns a model whose checkpoint is behind three inputs of session a. The
// second gave no event, and the first snapshot does not cover it.
func covered(t *testing.T) (*model, *modelOwner) {
	t.Helper()
	m := newModel(1, true)
	m.todo, m.replicated = nil, true
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	o := m.owners[0]
	for i, args := range []string{"[", "1,"} {
		m.fragment(args)
		events := len(m.log)
		if err := o.fold(1); err != nil {
			t.Fatal(err)
		}
		o.settle(t)
		if i > 0 && len(m.log) > events {
			t.Fatal("the second input gave an event, and an outdated snapshot would show")
		}
		o.q.sessions.writeAll(time.Now())
		o.settle(t)
	}
	m.past = m.past[1:] // only the first snapshot
	o.q.advance(context.Background())
	o.settle(t)
	if c := m.checkpoint; c.Seq != 4 || c.Snapshots != 2 {
		t.Fatalf("got checkpoint %+v, want one at input 4 that relies on revision 2", c)
	}
	return m, o
}

// fragment appends an input with a part of the args of a call.
func (m *model) fragment(args string) {
	m.append("a", inputs.Delta, []byte(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"`+args+`"}}]}}]}`))
}

// finish folds the last input of the session, and checks the events.
func finish(t *testing.T, m *model, o *modelOwner) {
	t.Helper()
	m.fragment("2]")
	if err := o.fold(1); err != nil {
		t.Fatal(err)
	}
	o.settle(t)
	s := o.q.sessions.resident["a"]
	if s == nil || o.q.status.damaged.Load() != 0 {
		t.Fatalf("the session is %+v and %d snapshots count as damaged, want it in memory and none", s, o.q.status.damaged.Load())
	}
	if err := m.work(o); err != nil {
		t.Fatal(err)
	}
	if err := m.compare(); err != nil {
		t.Error(err)
	}
}

// work lets an owner close the call.
func (m *model) work(o *modelOwner) error {
	for range 100 {
		if err := o.work(); err != nil {
			return err
		}
	}
	return nil
}

// TestOutdatedSnapshots checks that a session is continued from its last snapshot where
// a server that was cut off from the others answers with an earlier one, although no
// event shows that.
func TestOutdatedSnapshots(t *testing.T) {
	for _, c := range []struct {
		what string
		next func(t *testing.T, m *model, o *modelOwner) *modelOwner
	}{
		{"a session that left memory", func(_ *testing.T, _ *model, o *modelOwner) *modelOwner {
			o.q.evictor.evict(time.Now().Add(48 * time.Hour))
			o.q.sessions.compressed.clear()
			o.q.sessions.places.clear()
			return o
		}},
		{"a takeover whose listing is outdated", func(t *testing.T, m *model, _ *modelOwner) *modelOwner {
			m.outdated = 3
			if err := m.birth(1); err != nil {
				t.Fatal(err)
			}
			return m.owners[1]
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, o := covered(t)
				o = c.next(t, m, o)
				m.outdated += 3
				finish(t, m, o)
			})
		})
	}
}

// TestExpiredSnapshot checks that a session whose snapshot and events expired is loaded
// without waiting for a server that has them.
func TestExpiredSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, o := covered(t)
		o.q.evictor.evict(time.Now().Add(48 * time.Hour))
		o.q.sessions.compressed.clear()
		delete(m.snapshots, "a")
		m.log, m.past = nil, nil // its events expired too
		began := time.Now()
		m.outdated = 0
		m.replicated = true
		m.fragment("2]")
		if err := o.fold(1); err != nil {
			t.Fatal(err)
		}
		o.settle(t)
		if took := time.Since(began); took > 0 || o.q.sessions.resident["a"] == nil {
			t.Errorf("loading took %v, want a session in memory at once: its snapshot is known to have expired", took)
		}
	})
}
