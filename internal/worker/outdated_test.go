package worker

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"

	"github.com/rs/zerolog"
)

// behindSnapshots is a log of which a server that was cut off from the others answers some
// reads of snapshots and listings.
type behindSnapshots struct {
	*modelOwner
	of    map[string]modelSnapshot // what that server has
	until time.Time                // when it notices
	reads int                      // that it answered
}

func (b *behindSnapshots) Replicated() bool { return true }

func (b *behindSnapshots) LoadSnapshot(ctx context.Context, p int, token string) (broker.Snapshot, bool, error) {
	if !time.Now().Before(b.until) {
		return b.modelOwner.LoadSnapshot(ctx, p, token)
	}
	b.reads++
	k, ok := b.of[token]
	return broker.Snapshot{Rev: k.rev, Header: k.header, Data: k.data}, ok, nil
}

func (b *behindSnapshots) ListSnapshots(_ context.Context, _ int, fn func(string, uint64, map[string]string, time.Time) error) (complete bool, err error) {
	for token, k := range b.of {
		if err := fn(token, k.rev, k.header, time.Time{}); err != nil {
			return false, err
		}
	}
	return false, nil
}

// fragment appends an input with a part of the args of a call.
func (m *model) fragment(args string) uint64 {
	return m.append("a", inputs.Delta, []byte(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"`+args+`"}}]}}]}`))
}

// saveNow saves everything at once, as at the end of a worker.
func (o *modelOwner) saveNow(t *testing.T) {
	t.Helper()
	o.q.snapshots.every, o.q.snapshots.keep, o.q.checkpoint.keep = 0, 0, 0
	for range 4 { // a snapshot is taken and stored, a checkpoint found and written
		o.save(t)
		o.settle(t)
	}
}

// TestOutdatedSnapshots checks that a session is continued from its last input where a
// server that was cut off from the others answers with an earlier snapshot, or none: the
// inputs behind that are folded again, and where they have expired, it is asked again.
func TestOutdatedSnapshots(t *testing.T) {
	for _, c := range []struct {
		what    string
		past    int  // which snapshots the server has
		ended   bool // the last input before gave events
		expired bool // the inputs that the last snapshot covers
		asks    bool // another server has to answer
	}{
		{"none, inputs without events follow", 0, false, false, false},
		{"the first, inputs without events follow", 1, false, false, false},
		{"none, events follow", 0, true, false, false},
		{"the first, events follow", 1, true, false, false},
		{"none, and the inputs have expired", 0, true, true, true},
		{"the first, and the inputs have expired", 1, true, true, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newModel(1)
				m.todo, m.replicated = nil, false
				if err := m.birth(0); err != nil {
					t.Fatal(err)
				}
				o := m.owners[0]
				o.q.opts.EvictAfter, o.q.opts.MaxMemory = time.Hour, 1<<30
				for i, args := range []string{"[", "1,"} {
					m.fragment(args)
					events := len(m.log)
					o.take(t)
					o.settle(t)
					if i > 0 && len(m.log) > events {
						t.Fatal("the second input gave an event, and an outdated snapshot would show")
					}
					o.saveNow(t)
				}
				if c.ended {
					m.append("a", inputs.Interrupt, []byte("{}"))
					o.take(t)
					o.settle(t)
					o.saveNow(t)
				}
				if got, want := m.checkpoints[len(m.checkpoints)-1].Seq, o.q.reading.pos; got != want || len(m.past) < 2 {
					t.Fatalf("the checkpoint is at %d, want %d, and %d snapshots were replaced", got, want, len(m.past))
				}
				if c.expired {
					m.first = m.checkpoints[len(m.checkpoints)-1].Seq
				}
				second := &modelOwner{m: m}
				m.owners[0] = second
				log := &behindSnapshots{modelOwner: second, of: m.past[c.past].of, until: m.now.Add(3 * time.Second)}
				w := &Worker{Log: log, Options: Options{Nonce: "second", Rules: modelRules()}, Logger: zerolog.Nop()}
				second.q = newPartition(w, 0)
				taken, err := w.takeOver(t.Context(), second.q)
				if err == nil {
					err = second.step(taken)
				}
				if err != nil {
					t.Fatal(err)
				}
				second.settle(t)
				began := time.Now()
				m.fragment("2]")
				second.take(t)
				second.settle(t)
				if s := second.q.table.live("a"); s == nil || log.reads == 0 || time.Since(began) > 5*time.Second {
					t.Fatalf("the session is %+v after %v, and %d reads, want it in memory; held: %q", s, time.Since(began), log.reads, second.reasons())
				}
				if asked := !time.Now().Before(log.until); asked != c.asks {
					t.Errorf("the load ended at a time when the server had noticed: %v, want %v", asked, c.asks)
				}
				for range 100 {
					if err := second.work(); err != nil {
						t.Fatal(err)
					}
				}
				m.first = 1 // what has expired counts for the comparison
				if err := m.compare(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestExpiredSnapshot checks that a session whose snapshot and events expired is loaded
// without waiting for a server that has them.
func TestExpiredSnapshot(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		o.take(t)
		o.rest(t)
		o.q.opts.EvictAfter = 1
		o.tick(t)
		o.q.lower(o.q.table.of["a"])
		m.replicated = true
		delete(m.snapshots, "a")
		m.first, m.past = uint64(len(m.inputs)+1), nil
		for i := range m.log {
			m.log[i].token = "" // expired
		}
		began := time.Now()
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 2, 2))
		o.take(t)
		o.settle(t)
		if took := time.Since(began); took > 0 || o.q.table.live("a") == nil {
			t.Errorf("loading took %v, want a session in memory at once", took)
		}
	})
}
