package bench

import (
	"context"
	"fmt"
	"io"
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

// Recovery is the cost of folding a backlog of sessions with one input each: the first
// time, and by a new worker after the one before was killed in the middle.
type Recovery struct {
	Sessions int     `json:"sessions"`
	First    Folding `json:"first"`
	Again    Folding `json:"after_kill"`
}

// Folding is the cost of folding a backlog to its end.
type Folding struct {
	Seconds  float64 `json:"s"`
	CPU      float64 `json:"cpu_s"`
	Requests float64 `json:"api_requests_per_session"`
}

// print writes a row, with the ratios to that of the smallest backlog.
func (m *Recovery) print(w io.Writer, least *Recovery) {
	fmt.Fprintf(w, "killed in a backlog of %d sessions\t%.2f s (first time: %.2f)\t%.2f s CPU (first time: %.2f)\tby size %.2f, CPU %.2f\t%.2f API requests per session\n", m.Sessions,
		m.Again.Seconds, m.First.Seconds, m.Again.CPU, m.First.CPU, m.perSession(m.Again.Seconds)/least.perSession(least.Again.Seconds),
		m.perSession(m.Again.CPU)/least.perSession(least.Again.CPU), m.Again.Requests)
}

func (m *Recovery) perSession(v float64) float64 { return v / float64(m.Sessions) }

func medianRecovery(all []Recovery) Recovery {
	over := func(of func(*Recovery) *Folding) Folding {
		median := func(value func(*Folding) float64) float64 {
			return Median(all, func(m Recovery) float64 { return value(of(&m)) })
		}
		return Folding{
			median(func(f *Folding) float64 { return f.Seconds }),
			median(func(f *Folding) float64 { return f.CPU }),
			median(func(f *Folding) float64 { return f.Requests }),
		}
	}
	return Recovery{all[0].Sessions, over(func(m *Recovery) *Folding { return &m.First }), over(func(m *Recovery) *Folding { return &m.Again })}
}

// killAt are the fractions of a backlog that are folded when the worker is killed, by round.
var killAt = [...]float64{0.4, 0.2, 0.55}

// recovery measures a backlog of n sessions.
func recovery(ctx context.Context, log zerolog.Logger, o broker.Options, n, round int) (m Recovery, err error) {
	m.Sessions = n
	err = OnRig(ctx, log, o, func(ctx context.Context, r *Rig) (err error) {
		count, err := r.backlog(ctx, n)
		if err == nil {
			m.First, err = r.foldAll(ctx, n, count)
		}
		return err
	})
	if err != nil {
		return m, err
	}
	err = OnRig(ctx, log, o, func(ctx context.Context, r *Rig) error {
		count, err := r.backlog(ctx, n)
		if err != nil {
			return err
		}
		if err := r.killed(ctx, int64(killAt[round%len(killAt)]*float64(n))); err != nil {
			return err
		}
		m.Again, err = r.foldAll(ctx, n, count)
		return err
	})
	return m, err
}

// backlog stores the inputs, and counts the calls that are opened from now on.
func (r *Rig) backlog(ctx context.Context, n int) (*atomic.Int64, error) {
	prefix := r.Prefix()
	if _, err := r.Fill(ctx, prefix, openCalls(n)); err != nil {
		return nil, err
	}
	count, _, err := r.Count(prefix, events.ToolCallStart)
	return count, err
}

// mortal is a broker through which a worker publishes until it has opened so many calls: as
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

func (r *Rig) killed(ctx context.Context, calls int64) error {
	m := &mortal{Broker: r.Broker}
	m.left.Store(calls)
	w := r.workOn(ctx, m, worker.Options{})
	defer w.Stop()
	return w.Until(ctx, func() bool { return m.left.Load() < 0 })
}

// foldAll measures a new worker until it has read the log and all calls are open.
func (r *Rig) foldAll(ctx context.Context, n int, count *atomic.Int64) (f Folding, err error) {
	_, last, err := r.Broker.InputBounds(ctx)
	if err != nil {
		return f, err
	}
	requests, err := r.NC.SubscribeSync("$JS.API.>")
	if err == nil {
		err = r.NC.Flush()
	}
	if err != nil {
		return f, err
	}
	_ = requests.SetPendingLimits(-1, -1)
	cpu, start := CPUTime(), time.Now()
	w := r.Work(ctx, worker.Options{})
	defer w.Stop()
	err = w.Until(ctx, func() bool {
		if count.Load() < int64(n) {
			return false
		}
		s := w.Stats()
		return len(s.Carried) >= r.Broker.Partitions() && !slices.ContainsFunc(s.Carried, func(p worker.Carried) bool { return p.Next <= last })
	})
	f.Seconds, f.CPU = time.Since(start).Seconds(), (CPUTime() - cpu).Seconds()
	if flushed := r.NC.Flush(); err == nil {
		err = flushed
	}
	arrived, _, _ := requests.Pending()
	f.Requests = float64(arrived) / float64(n)
	return f, err
}
