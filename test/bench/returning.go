package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"streamer/internal/bench"
	"streamer/internal/events"
	"streamer/internal/worker"
)

const (
	// evictAfter is the time after which the sessions leave memory that return.
	evictAfter = 2 * time.Second
	// portions is the number of parts of the sessions between which other events
	// are stored.
	portions = 16
	// otherSessions have the other events, of otherBytes each.
	otherSessions = 1000
	otherBytes    = 400
)

// returning measures sessions that had a call, left memory, and come back to an
// event log with --log-size other events. The sessions of the path are spread
// over the first half of the log and those of the limit over the second half: the
// server has loaded the blocks of neither.
func (r *rig) returning(ctx context.Context, p bench.Plan, o worker.Options, to *row) error {
	o.EvictAfter = evictAfter
	w := r.Work(ctx, o)
	defer func() { w.Stop() }()
	m := bench.PathRun{Prefix: r.Prefix(), Calls: p.Sessions}
	limit, err := r.newLimit(ctx, &m, r.Prefix())
	if err != nil {
		return err
	}
	other := otherEvents{client: limit.client, prefix: r.Prefix()}
	if err := r.before(ctx, w, p, &m, &other); err != nil {
		return err
	}
	if err := r.beforeLimit(ctx, &m, limit, &other); err != nil {
		return err
	}
	if err := w.Until(ctx, func() bool { return w.Stats().Sessions <= 1 }); err != nil {
		return err
	}
	p.First = 1
	seqs, err := r.returningPath(ctx, w, p, &m)
	if err != nil {
		return err
	}
	to.Path, to.RSS = m.Throughput, bench.RSS()
	w.Stop()
	to.Limit, err = r.returningLimit(ctx, p, &m, seqs, limit)
	return err
}

// portion returns the plan of a part of the sessions. The names of sessions count
// from 0 in each part, so that it has a prefix of its own.
func portion(p bench.Plan, i int) (part bench.Plan, suffix string) {
	p.Sessions = (p.Sessions*(i+1))/portions - (p.Sessions*i)/portions
	p.AtOnce = max(1, p.Sessions)
	return p, fmt.Sprintf("%02d-", i)
}

// before stores the first calls of the sessions and, between them, other events.
func (r *rig) before(ctx context.Context, w bench.Worker, p bench.Plan, m *bench.PathRun, other *otherEvents) error {
	count, unsubscribe, err := r.Count(m.Prefix, events.ToolCallResult)
	if err != nil {
		return err
	}
	defer unsubscribe()
	if _, m.After, err = r.Broker.EventBounds(ctx); err != nil {
		return err
	}
	total := 0
	for i := range portions {
		part, suffix := portion(p, i)
		if _, err := r.Fill(ctx, m.Prefix+suffix, part); err != nil {
			return err
		}
		total += part.Sessions
		if err := w.Until(ctx, func() bool { return count.Load() >= int64(total) }); err != nil {
			return err
		}
		if err := other.append(ctx, r.options.LogSize<<20/2/portions); err != nil {
			return err
		}
	}
	_, m.Span[1], err = r.Broker.InputBounds(ctx)
	return err
}

// beforeLimit stores the same for the limit.
func (r *rig) beforeLimit(ctx context.Context, m *bench.PathRun, limit *limiter, other *otherEvents) error {
	list, err := r.eventsOf(ctx, m, limit.prefix)
	if err != nil {
		return err
	}
	for i, e := range list {
		if err := limit.client.append(e); err != nil {
			return err
		}
		if i%(len(list)/portions+1) == 0 {
			if err := other.append(ctx, r.options.LogSize<<20/2/portions); err != nil {
				return err
			}
		}
	}
	return limit.client.flush(ctx)
}

// fillPortions stores the inputs of all parts of the sessions.
func (r *rig) fillPortions(ctx context.Context, prefix string, p bench.Plan) (seqs []uint64, err error) {
	for i := range portions {
		part, suffix := portion(p, i)
		more, err := r.Fill(ctx, prefix+suffix, part)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, more...)
	}
	return seqs, nil
}

// returningPath measures the second calls, from their first input to their last
// result. The result has the sequences of the inputs.
func (r *rig) returningPath(ctx context.Context, w bench.Worker, p bench.Plan, m *bench.PathRun) (seqs []uint64, err error) {
	if _, m.After, err = r.Broker.EventBounds(ctx); err != nil {
		return nil, err
	}
	count, unsubscribe, err := r.Count(m.Prefix, events.ToolCallResult)
	if err != nil {
		return nil, err
	}
	defer unsubscribe()
	runtime.GC()
	m.Sessions = p.Sessions
	err = w.Measure(ctx, m, count, func() (_ []uint64, err error) {
		seqs, err = r.fillPortions(ctx, m.Prefix, p)
		return seqs, err
	})
	return seqs, err
}

// returningLimit measures the same inputs, stored again for other sessions, and
// the events that the worker stored for them.
func (r *rig) returningLimit(ctx context.Context, p bench.Plan, m *bench.PathRun, seqs []uint64, limit *limiter) (t bench.Throughput, err error) {
	if limit.list, err = r.eventsOf(ctx, m, limit.prefix); err != nil {
		return t, err
	}
	_, last, err := r.Broker.InputBounds(ctx)
	if err != nil {
		return t, err
	}
	for i := range limit.list { // the new inputs have no clock inputs between them
		e := &limit.list[i]
		n, _ := slices.BinarySearch(seqs, e.input)
		e.input = last + 1 + uint64(n)
	}
	span := [2]uint64{last + 1, last + uint64(len(seqs))}
	return limit.measure(ctx, span, func() error {
		_, err := r.fillPortions(ctx, limit.prefix, p)
		return err
	})
}

// otherEvents appends events of sessions that nothing is measured of.
type otherEvents struct {
	client *minimal
	prefix string
	n      int
}

// append appends events with about so many bytes.
func (o *otherEvents) append(ctx context.Context, size int) error {
	body := make([]byte, otherBytes)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	for ; size > 0; size -= otherBytes {
		o.n++
		e := events.Event{Type: events.ToolCallArgsDelta, EventID: events.ID{Seq: 1, N: o.n}, Call: "1.0"}
		if err := o.client.append(event{token: o.prefix + strconv.Itoa(o.n%otherSessions), meta: e, body: body}); err != nil {
			return err
		}
	}
	return o.client.flush(ctx)
}
