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
	ended := func(token string, last time.Time) bool { return g.ended(ctx, token, time.Since(last)) }
	if g.rates.allowance(storer).add(in.token, g.opts.MaxOpen, ended) {
		return nil
	}
	g.throttle(storer)
	w.Header().Set("Retry-After", strconv.Itoa(int(lookEvery.Seconds())))
	return respond.Refuse(http.StatusTooManyRequests, fmt.Sprintf("the session is not begun: %s has %d open sessions, which is the maximum; finish or end one", whose(r), g.opts.MaxOpen))
}

// ended reports whether no run of a session is open that had no deltas for a time.
func (g *Gateway) ended(ctx context.Context, token string, quiet time.Duration) bool {
	if quiet < settleTime {
		return false
	}
	started, err := g.store.LastOf(ctx, token, events.RunStarted)
	if err != nil {
		return false
	}
	finished, err := g.store.LastOf(ctx, token, events.RunFinished)
	return err == nil && (finished.Seq > started.Seq || started.Seq == 0 && quiet >= unfoldedTime)
}

// add notes deltas of a session, and reports whether it is one of most open ones. Above that
// it looks which of them have ended, without the lock: that reads the log.
func (o *opened) add(token string, most int, ended func(token string, last time.Time) bool) bool {
	if o.note(token, most) {
		return true
	}
	for other, last := range o.look() {
		if ended(other, last) {
			o.remove(other, last)
		}
	}
	return o.note(token, most)
}

// note notes deltas of a session that is open, or is one of most then.
func (o *opened) note(token string, most int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.last[token]; !known && len(o.last) >= most {
		return false
	}
	if o.last == nil {
		o.last = map[string]time.Time{}
	}
	o.last[token] = time.Now()
	return true
}

// look returns a copy of the sessions, or nil if they were looked at just now.
func (o *opened) look() map[string]time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.looked) < lookEvery {
		return nil
	}
	o.looked = time.Now()
	return maps.Clone(o.last)
}

// remove removes a session, unless it has had deltas since.
func (o *opened) remove(token string, last time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last[token].Equal(last) {
		delete(o.last, token)
	}
}
