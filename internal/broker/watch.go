package broker

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// watches are the sessions somebody tails: one NATS subscription each.
type watches struct {
	b  *Broker
	mu sync.Mutex
	of map[string]*watch // by token
}

// watch is one session's subscription to what the server republishes.
type watch struct {
	b     *Broker
	token string
	sub   *nats.Subscription

	mu      sync.Mutex
	tails   map[*tail]struct{}
	seen    uint64 // the last sequence that came
	checked time.Time
}

func newWatches(b *Broker) *watches { return &watches{b: b, of: map[string]*watch{}} }

// join adds a tail to its session's watch, which begins with its first.
func (ws *watches) join(t *tail) (*watch, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.of[t.token]
	if w == nil {
		w = &watch{b: ws.b, token: t.token, tails: map[*tail]struct{}{}}
		var err error
		if w.sub, err = ws.b.nc.Subscribe(chain(t.token), w.receive); err != nil {
			return nil, fmt.Errorf("broker: watching session %s: %w", t.token, err)
		}
		ws.of[t.token] = w
	}
	w.mu.Lock()
	w.tails[t] = struct{}{}
	w.mu.Unlock()
	return w, nil
}

// leave takes a tail away, and the subscription with the last.
func (ws *watches) leave(t *tail) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.of[t.token]
	w.mu.Lock()
	delete(w.tails, t)
	left := len(w.tails)
	w.mu.Unlock()
	if left == 0 {
		w.sub.Unsubscribe()
		delete(ws.of, t.token)
	}
}

// lostAll lets every tail read the log again.
func (ws *watches) lostAll() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.of {
		w.lost()
	}
}

// lost tells that messages of a subscription were dropped.
func (ws *watches) lost(subject string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.of[sessionOf(subject)]; w != nil {
		w.lost()
	}
}

func (w *watch) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.tails {
		t.lose()
	}
}

// receive hands a republished event to every tail. It runs on the
// subscription's goroutine and never waits.
func (w *watch) receive(m *nats.Msg) {
	s, ok := w.b.republished(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = max(w.seen, s.Seq)
	for t := range w.tails {
		if ok {
			t.put(&s)
		} else {
			t.lose()
		}
	}
}

// republished reads what the server adds to a republished message. ok is false
// for anything that is none, or no event: the log decides.
func (b *Broker) republished(m *nats.Msg) (s Message, ok bool) {
	seq, err := strconv.ParseUint(m.Header.Get(headerSeq), 10, 64)
	if err != nil {
		return s, false
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(headerTime))
	if err != nil {
		return s, false
	}
	s = b.logged(stored{seq, at, m.Subject, m.Header, m.Data})
	return s, s.Forged == ""
}

// check compares the chain's end with what has come, once for all tails of the
// session, and lets them read again where something is missing.
func (w *watch) check(ctx context.Context, last uint64) {
	w.mu.Lock()
	due := time.Since(w.checked) > tailCheck/2
	if due {
		w.checked = time.Now()
	}
	w.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	seq, _, err := w.b.ChainLast(ctx, w.token)
	if err != nil { // the next check will tell
		return
	}
	w.mu.Lock()
	missing := seq > max(w.seen, last)
	w.seen = max(w.seen, seq)
	w.mu.Unlock()
	if missing {
		w.lost()
	}
}
