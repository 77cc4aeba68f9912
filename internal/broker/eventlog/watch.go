package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go"
)

// Headers that the server adds to a republished message.
const (
	headerSeq  = "Nats-Sequence"
	headerTime = "Nats-Time-Stamp"
)

// watches are the sessions that have tails, with one NATS subscription each. Tails
// of several sessions share one of all sessions, with the token "".
type watches struct {
	l  *Log
	mu sync.Mutex
	of map[string]*watch // by token
}

const everyEvent = "toolcalls.>"

// watch is the subscription of one session, or of all, to the events that the server
// republishes.
type watch struct {
	l      *Log
	token  string
	filter string
	sub    *broker.Subscription

	mu      sync.Mutex
	tails   map[*tail]struct{}
	first   uint64 // the first sequence that arrived
	seen    uint64 // the last sequence that arrived
	checked time.Time
}

func (ws *watches) join(t *tail) (*watch, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.of[t.token]
	if w == nil {
		w = &watch{l: ws.l, token: t.token, filter: filterOf(t.token), tails: map[*tail]struct{}{}}
		if t.token == "" {
			w.filter = everyEvent
		}
		var err error
		if w.sub, err = ws.l.b.Subscribe(w.filter, w.receive, w.lost); err != nil {
			return nil, fmt.Errorf("eventlog: watching session %s: %w", t.token, err)
		}
		if ws.of == nil {
			ws.of = map[string]*watch{}
		}
		ws.of[t.token] = w
	}
	w.mu.Lock()
	w.tails[t] = struct{}{}
	w.mu.Unlock()
	return w, nil
}

func (ws *watches) leave(t *tail) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.of[t.token]
	w.mu.Lock()
	delete(w.tails, t)
	left := len(w.tails)
	w.mu.Unlock()
	if left == 0 {
		w.sub.Close()
		delete(ws.of, t.token)
	}
}

func (w *watch) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.tails {
		t.lose()
	}
}

// receive passes a republished event to every tail that reads its session. The
// sequences of all events have no gaps, so in a watch of all sessions a gap is a
// missing event. receive runs on the subscription's goroutine and never blocks.
func (w *watch) receive(m *nats.Msg) {
	e, ok := republished(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.token == "" && w.seen > 0 && e.Seq != w.seen+1 {
		ok = false
	}
	if w.first == 0 {
		w.first = e.Seq
	}
	w.seen = max(w.seen, e.Seq)
	for t := range w.tails {
		switch {
		case !ok:
			t.lose()
		case t.selected == nil || t.selected.has(e.Token):
			t.put(&e)
		}
	}
}

// begin states that a tail of several sessions has read the log up to a sequence.
// If the first event that arrived is not the next one, some are missing.
func (w *watch) begin(seq uint64) {
	w.mu.Lock()
	missing := w.first > seq+1
	w.seen = max(w.seen, seq)
	w.mu.Unlock()
	if missing {
		w.lost()
	}
}

// republished parses a republished message. ok is false for any other message,
// and for one that is no event: the tails then read the log.
func republished(m *nats.Msg) (e Entry, ok bool) {
	seq, err := strconv.ParseUint(m.Header.Get(headerSeq), 10, 64)
	if err != nil {
		return e, false
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(headerTime))
	if err != nil {
		return e, false
	}
	e = entryOf(&broker.Message{Seq: seq, At: at, Subject: m.Subject, Header: m.Header, Data: m.Data})
	return e, e.Forged == ""
}

// check compares the head of the watch's events with what has arrived, once for all
// tails of the watch, and makes them read again where an event is missing. last is that
// of the tail that calls it. The tails may read from a replica that does not have the
// event yet, so check reports whether it has to be repeated soon.
func (w *watch) check(ctx context.Context, last uint64) (again bool) {
	w.mu.Lock()
	due := time.Since(w.checked) > tailCheck/2
	if due {
		w.checked = time.Now()
	}
	w.mu.Unlock()
	if !due {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, broker.AskTimeout)
	defer cancel()
	seq, err := w.l.headOf(ctx, w.filter)
	if err != nil { // the next check will find out
		return false
	}
	w.mu.Lock()
	missing := seq > max(w.seen, last)
	if missing {
		w.checked = time.Time{}
	}
	w.mu.Unlock()
	if missing {
		w.lost()
	}
	return missing
}
