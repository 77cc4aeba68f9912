package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/inputs"
)

// evicted returns an owner with sessions that left memory.
func evicted(t *testing.T, tokens ...string) (*model, *partition) {
	t.Helper()
	m := newModel(1, true)
	m.todo = nil
	if err := m.birth(0); err != nil {
		t.Fatal(err)
	}
	o := m.owners[0]
	for _, token := range tokens {
		m.append(token, inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
	}
	if err := o.fold(len(tokens)); err != nil {
		t.Fatal(err)
	}
	o.settle(t)
	o.q.sessions.writeAll(time.Now())
	o.settle(t)
	o.q.evictor.evict(time.Now().Add(48 * time.Hour)) // beyond KeepAcked and every timer
	if n := len(o.q.sessions.resident); n != 0 {
		t.Fatalf("%d sessions stayed in memory, want none", n)
	}
	return m, o.q
}

// TestCompressed checks that a session that left memory returns without a read, as
// it was, and that one of another connection epoch is read again.
func TestCompressed(t *testing.T) {
	for _, c := range []struct {
		what  string
		epoch uint64 // by which it is later
		reads bool
	}{{"the same connection", 0, false}, {"another connection", 1, true}} {
		t.Run(c.what, func(t *testing.T) {
			m, q := evicted(t, "a")
			kept := q.sessions.compressed.of["a"]
			if kept == nil || q.w.compressed.Load() <= 0 {
				t.Fatalf("got %v and %d bytes, want a compressed session", kept, q.w.compressed.Load())
			}
			m.epoch += c.epoch
			s, l := q.load(context.Background(), "a")
			if (l != nil) != c.reads {
				t.Fatalf("the session is read: %v, want %v", l != nil, c.reads)
			}
			if got := q.w.compressed.Load(); got != 0 {
				t.Errorf("%d bytes are compressed, want 0", got)
			}
			if c.reads {
				return
			}
			if s.state.N != 2 || s.log.seq == 0 || s.log.id.Seq != 2 || s.snapshot.rev != kept.rev || s.dirty() || q.clock.at["a"] == 0 {
				t.Errorf("got %+v, want the session after input 2 with its head, its revision and its timer", s)
			}
			m.append("a", inputs.Result, fmt.Appendf(nil, result, 1))
			if err := m.owners[0].fold(1); err != nil {
				t.Fatal(err)
			}
			m.owners[0].settle(t)
			if err := m.compare(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCompressedAreBounded checks that the sessions are forgotten that left memory
// first, and that the order does not grow with sessions that come and go.
func TestCompressedAreBounded(t *testing.T) {
	_, q := evicted(t, "a", "b", "c")
	c := &q.sessions.compressed
	one := int64(c.bytes / 3)
	c.most = 2*one + one/2
	c.trim()
	if len(c.of) != 2 || int64(c.bytes) != q.w.compressed.Load() || int64(c.bytes) > c.most {
		t.Errorf("got %d sessions of %d bytes, want 2 of at most %d", len(c.of), c.bytes, c.most)
	}
	var returning string
	for token, e := range c.of {
		if e.no == c.last {
			returning = token
		}
	}
	for range 1000 {
		s, _ := q.load(context.Background(), returning)
		if s == nil {
			t.Fatalf("session %s, which left memory last, is read", returning)
		}
		q.evictor.unload(s)
	}
	if len(c.order) > 2*len(c.of)+staleCompressed {
		t.Errorf("the order has %d entries of %d sessions", len(c.order), len(c.of))
	}
	c.clear()
	if q.w.compressed.Load() != 0 {
		t.Errorf("%d bytes after all were forgotten, want 0", q.w.compressed.Load())
	}
}

// TestPlacesAreBounded checks that the places of the sessions that left memory last
// are found, and at most maxPlaces.
func TestPlacesAreBounded(t *testing.T) {
	m := newPlaces()
	s := &resident{}
	for i := range 2 * maxPlaces {
		s.token, s.snapshot.rev = fmt.Sprint(i), uint64(i+1)
		m.add(s)
	}
	if n := len(m.recent) + len(m.older); n > maxPlaces {
		t.Errorf("got %d places, want at most %d", n, maxPlaces)
	}
	for i := 2*maxPlaces - maxPlaces/2; i < 2*maxPlaces; i++ {
		if p, ok := m.of(fmt.Sprint(i)); !ok || p.rev != uint64(i+1) {
			t.Fatalf("place %d: got %+v, %v", i, p, ok)
		}
	}
	m.remove(s.token)
	if _, ok := m.of(s.token); ok {
		t.Error("the place of a session that returned is still there")
	}
}
