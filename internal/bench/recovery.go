package bench

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/worker"

	"github.com/rs/zerolog"
)

// Recovery is the cost of a backlog of sessions with one input each: the first time, and for
// the worker after one that was killed in the middle.
type Recovery struct {
	Sessions int     `json:"sessions"`
	First    Folding `json:"first"`
	Again    Folding `json:"after_kill"`
}

// Folding is the cost of folding a backlog to its end, of the whole process.
type Folding struct {
	Seconds  float64 `json:"s"`
	CPU      float64 `json:"cpu_s"`
	Requests float64 `json:"api_requests_per_session"`
}

// killAt is how much of a backlog is folded when its worker is killed, by round.
var killAt = [...]float64{0.4, 0.2, 0.55}

// foldBacklog measures a worker until it has opened the call of each session, where another
// opened some and was killed, unless that is 0.
func (r *Rig) foldBacklog(ctx context.Context, n int, killed int64) (f Folding, err error) {
	prefix := r.Prefix()
	if _, err := r.Fill(ctx, prefix, openCalls(n)); err != nil {
		return f, err
	}
	opened, unsubscribe, err := r.Count(prefix, events.ToolCallStart)
	if err != nil {
		return f, err
	}
	defer unsubscribe()
	if killed > 0 {
		m := &mortal{Broker: r.Broker}
		m.left.Store(killed)
		w := r.workOn(ctx, m, zerolog.Nop(), worker.Options{})
		err = w.Until(ctx, func() bool { return m.left.Load() < 0 })
		w.Stop()
	}
	requests, failed := r.NC.SubscribeSync("$JS.API.>")
	if failed != nil || err != nil {
		return f, errors.Join(err, failed)
	}
	defer requests.Unsubscribe()
	_ = requests.SetPendingLimits(-1, -1)
	cpu, start := CPUTime(), time.Now()
	w := r.Work(ctx, worker.Options{})
	defer w.Stop()
	err = w.Until(ctx, func() bool { return opened.Load() >= int64(n) })
	asked, _, _ := requests.Pending()
	return Folding{time.Since(start).Seconds(), (CPUTime() - cpu).Seconds(), float64(asked) / float64(n)}, err
}

// mortal is a broker through which a worker publishes until it has opened so many calls, as
// if it was killed then.
type mortal struct {
	*client.Broker
	left atomic.Int64
}

// Publish publishes p, or reports that the connection is closed.
func (m *mortal) Publish(p *broker.Pub, acks chan<- broker.Ack) {
	if strings.HasSuffix(p.Subject, "."+string(events.ToolCallStart)) {
		m.left.Add(-1)
	}
	if m.left.Load() < 0 {
		acks <- broker.Ack{Pub: p, Err: broker.ErrClosed}
		return
	}
	m.Broker.Publish(p, acks)
}

// middle returns the round with the median CPU.
func middle(rounds []Folding) Folding {
	slices.SortFunc(rounds, func(a, b Folding) int { return cmp.Compare(a.CPU, b.CPU) })
	return rounds[len(rounds)/2]
}
