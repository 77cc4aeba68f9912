package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"
)

const (
	lookEvery    = 2 * time.Second // minimum time between two looks for ended sessions of a holder
	settleTime   = time.Second     // without deltas, after which the events of a session show its end
	unfoldedTime = time.Minute     // without deltas, after which a session without a run has ended
)

// opened are the sessions that a holder began at this process and of which no end is known.
type opened struct {
	mu     sync.Mutex
	last   map[string]time.Time // of the last deltas, by token
	looked time.Time            // when it last looked for ended sessions
}

// begin refuses the deltas of a session that is not open if their storer has as many open
// sessions as it may have.
func (g *Gateway) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, in *ingestion) error {
	storer := g.storer(r)
	if g.opts.MaxOpen == 0 || storer == "" || in.kind != inputs.Delta {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	a, now := g.rates.allowance(storer), time.Now()
	if a.add(&g.rates, in.token, g.opts.MaxOpen, now) {
		return nil
	}
	for token, last := range a.due(now) {
		if g.ended(ctx, token, last) {
			a.remove(&g.rates, token, last)
		}
	}
	if a.add(&g.rates, in.token, g.opts.MaxOpen, now) {
		return nil
	}
	g.throttle(storer)
	w.Header().Set("Retry-After", strconv.Itoa(int(lookEvery.Seconds())))
	return respond.Refuse(http.StatusTooManyRequests, fmt.Sprintf("the session is not begun: %s has %d open sessions, which is the maximum; finish or end one", whose(r), g.opts.MaxOpen))
}

// ended reports whether no run of a session is open.
func (g *Gateway) ended(ctx context.Context, token string, last time.Time) bool {
	quiet := time.Since(last)
	if quiet < settleTime {
		return false
	}
	started, err := g.store.LastOf(ctx, token, events.RunStarted)
	if err != nil {
		return false
	}
	finished, err := g.store.LastOf(ctx, token, events.RunFinished)
	if started.Seq == 0 && finished.Seq == 0 {
		return err == nil && quiet >= unfoldedTime
	}
	return err == nil && finished.Seq > started.Seq
}

// add notes deltas of a session, and reports whether it is one of most open ones.
func (o *opened) add(q *rates, token string, most int, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.last[token]; !known {
		if len(o.last) >= most {
			return false
		}
		q.sessions.Add(1)
	}
	if o.last == nil {
		o.last = map[string]time.Time{}
	}
	o.last[token] = now
	return true
}

// due returns the sessions that may have ended; none soon after the last time.
func (o *opened) due(now time.Time) map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.looked) < lookEvery {
		return nil
	}
	o.looked = now
	return maps.Clone(o.last)
}

// remove removes a session that had no deltas since.
func (o *opened) remove(q *rates, token string, since time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last[token].Equal(since) {
		delete(o.last, token)
		q.sessions.Add(-1)
	}
}

func (o *opened) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.last)
}
