package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// setClock is a log whose server's clock is set at times.
type setClock struct {
	*testBroker
	mu    sync.Mutex
	ahead time.Duration
	at    map[uint64]time.Duration // how far it was ahead, by input
}

func (l *setClock) set(ahead time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ahead = ahead
}

// stored sets the time at which the server stored an input.
func (l *setClock) stored(in *inputs.Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ahead, ok := l.at[in.Seq]
	if !ok {
		ahead = l.ahead
		l.at[in.Seq] = ahead
	}
	in.At = in.At.Add(ahead)
}

// Inputs delivers the inputs with the times of the server's clock.
func (l *setClock) Inputs(ctx context.Context, p int, from uint64, deliver func([]inputs.Input, uint64, bool) error) error {
	return l.testBroker.Inputs(ctx, p, from, func(batch []inputs.Input, next uint64, caughtUp bool) error {
		for i := range batch {
			l.stored(&batch[i])
		}
		return deliver(batch, next, caughtUp)
	})
}

// Input returns an input with the time of the server's clock.
func (l *setClock) Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error) {
	if in, ok, err = l.testBroker.Input(ctx, seq); ok {
		l.stored(&in)
	}
	return in, ok, err
}

// TestDeadlineWhenClocksAreSet checks that a call times out when its tool had its time,
// whatever steps the clock of the server makes meanwhile.
func TestDeadlineWhenClocksAreSet(t *testing.T) {
	const timeout, within = 10 * time.Minute, 5 * time.Second
	for _, c := range []struct {
		name   string
		ahead  time.Duration // until the call is open
		do     func(*steps)
		latest time.Duration
	}{
		{"right", 0, func(*steps) {}, timeout},
		{"set back", time.Hour, func(s *steps) { s.log.set(0) }, timeout},
		{"set back later", time.Hour, func(s *steps) { time.Sleep(time.Minute); s.log.set(0) }, timeout},
		{"set back for good", 0, func(s *steps) { s.log.set(-time.Hour) }, timeout},
		{"set back, busy", time.Hour, func(s *steps) {
			s.log.set(0)
			for range 59 {
				s.publish("a", "progress", `{"tool_call_id":"call_2"}`)
				time.Sleep(10 * time.Second)
			}
		}, timeout},
		{"set back, another call", time.Hour, func(s *steps) {
			time.Sleep(5 * time.Minute)
			s.log.set(0)
			s.publish("a", "delta", fmt.Sprintf(callDelta, 3, 3))
			s.began, s.call = time.Now(), "call_3"
		}, timeout},
		{"set back, evicted", time.Hour, func(s *steps) {
			s.log.set(0)
			time.Sleep(3 * time.Minute)
			s.publish("b", "interrupt", "{}") // the partition reads something
		}, timeout},
		{"set back, another owner", time.Hour, func(s *steps) {
			s.log.set(0)
			time.Sleep(4 * time.Minute)
			s.restart()
		}, timeout + 4*time.Minute},
		{"ahead for a second", 0, func(s *steps) {
			time.Sleep(5 * time.Minute)
			s.log.set(time.Hour)
			s.publish("b", "interrupt", "{}")
			time.Sleep(time.Second)
			s.log.set(0)
		}, timeout},
		{"changing", 0, func(s *steps) {
			for i := range 50 {
				s.log.set(time.Duration(i%3) * 20 * time.Second)
				s.publish("b", "interrupt", "{}")
				time.Sleep(10 * time.Second)
			}
		}, timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &steps{fixture: open(t, broker.Options{Partitions: 1, Storage: "memory"}), call: "call_1"}
				s.log = &setClock{testBroker: s.broker, ahead: c.ahead, at: map[uint64]time.Duration{}}
				s.restart()
				s.publish("a", "delta", fmt.Sprintf(callDelta, 2, 2))
				s.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
				s.began = time.Now()
				s.wait("a", func(e events.Record) bool { return e.Type == events.ToolCallArgsComplete && nameOf(t, e) == "call_1" })
				c.do(s)
				e := s.await("a", time.Hour, func(e events.Record) bool { return e.Type == events.ToolCallResult && nameOf(t, e) == s.call })
				if took := e.At.Sub(s.began); took < timeout || took > c.latest+within {
					t.Errorf("%s was closed after %v, want %v to %v", s.call, took, timeout, c.latest)
				}
				s.stop()
				s.broker.Close()
			})
		})
	}
}

// steps is a worker whose server's clock is set.
type steps struct {
	*fixture
	log   *setClock
	stop  func()
	call  string // the one that is waited for
	began time.Time
}

// restart lets another worker take over.
func (s *steps) restart() {
	if s.stop != nil {
		s.stop()
	}
	rules := lifecycle.DefaultRules()
	s.stop = s.workOn(s.log, Options{Nonce: fmt.Sprint(s.n), Rules: &rules, EvictAfter: time.Minute, MaxMemory: 1})
}

// nameOf returns the id of the call of an event.
func nameOf(t *testing.T, e events.Record) string {
	var of struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(e.Data, &of); err != nil {
		t.Fatal(err)
	}
	return of.ID
}
