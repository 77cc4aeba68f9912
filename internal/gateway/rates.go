package gateway

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"

	"golang.org/x/time/rate"
)

// rates bounds how many inputs each holder stores per second, and how many bytes.
type rates struct {
	inputs, bytes int // per second; 0 is no limit
	maxBody       int // bytes that may come at once, or those of a second

	mu sync.Mutex
	of map[string]*allowance
}

// allowance is what a holder may store at once, and what it has stored since it is
// remembered.
type allowance struct {
	inputs, bytes             *rate.Limiter
	stored, repeated, refused atomic.Uint64 // inputs; repeated ones were stored before
	opened
}

// maxAllowances bounds the holders that are remembered. One more, and all begin anew.
const maxAllowances = 10_000

// take takes an input from the allowance of a holder. It returns the time after which the
// input is within its rates, and undo, which gives it back. The holder "" has no limit.
func (q *rates) take(holder string, size int) (wait time.Duration, undo func()) {
	if holder == "" {
		return 0, func() {}
	}
	a, now := q.allowance(holder), time.Now()
	one, all := a.inputs.ReserveN(now, 1), a.bytes.ReserveN(now, size)
	return max(one.DelayFrom(now), all.DelayFrom(now)), func() {
		one.CancelAt(now)
		all.CancelAt(now)
	}
}

func (q *rates) allowance(holder string) *allowance {
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.of[holder]; a != nil {
		return a
	}
	if q.of == nil || len(q.of) == maxAllowances {
		q.of = map[string]*allowance{}
	}
	a := &allowance{inputs: newLimiter(q.inputs, 1), bytes: newLimiter(q.bytes, q.maxBody)}
	q.of[holder] = a
	return a
}

// newLimiter returns a limiter of a rate per second, with as much at once and at least
// least. The rate 0 is no limit.
func newLimiter(perSecond, least int) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, math.MaxInt)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(perSecond, least))
}

// storer returns whose inputs a request stores: those of the tokens of a subject, of an
// address beyond loopback, or "" for a local client without a token.
func (g *Gateway) storer(r *http.Request) string {
	if name := identity(r).Name; name != "" {
		return "subject " + name
	}
	if address := g.proxies.client(r); address != "" {
		return "address " + address
	}
	return ""
}

// meter refuses an input above the rates of its storer. An interrupt always passes.
func (g *Gateway) meter(w http.ResponseWriter, r *http.Request, kind inputs.Kind, size int) error {
	if kind == inputs.Interrupt {
		return nil
	}
	wait, undo := g.rates.take(g.storer(r), size)
	if wait == 0 {
		return nil
	}
	undo()
	g.throttle(g.storer(r))
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return respond.Refuse(http.StatusTooManyRequests, fmt.Sprintf("the input is not stored: %s may store %s", whose(r), g.rates.text()))
}

// whose returns the storer of a request as the text of a refusal has it.
func whose(r *http.Request) string {
	if identity(r).Name != "" {
		return "this subject of tokens"
	}
	return "this address"
}

// throttle counts an input of a storer that is refused or waits.
func (g *Gateway) throttle(storer string) {
	g.counts.throttled.Add(1)
	g.rates.allowance(storer).refused.Add(1)
}

// pace waits until an input of a body that is stored as it arrives is within the rates of
// its storer.
func (g *Gateway) pace(ctx context.Context, storer string, size int) error {
	wait, undo := g.rates.take(storer, size)
	if wait == 0 {
		return nil
	}
	g.throttle(storer)
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		undo()
		return context.Cause(ctx)
	}
}

// text returns the rates as the text of a refusal has them.
func (q *rates) text() string {
	switch {
	case q.bytes == 0:
		return fmt.Sprintf("%d inputs per second", q.inputs)
	case q.inputs == 0:
		return fmt.Sprintf("%d bytes per second", q.bytes)
	}
	return fmt.Sprintf("%d inputs and %d bytes per second", q.inputs, q.bytes)
}
