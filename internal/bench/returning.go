package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

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
// event log with Options.LogSize other events. The sessions of the path are spread
// over the first half of the log and those of the limit over the second half: the
// server has loaded the blocks of neither.
func (r *rig) returning(ctx context.Context, p plan, o worker.Options, row *Row) error {
	o.EvictAfter = evictAfter
	w := r.work(ctx, o)
	defer func() { w.stop() }()
	m := run{prefix: r.prefix(), calls: p.sessions}
	limit, err := r.newLimit(&m, r.prefix())
	if err != nil {
		return err
	}
	defer limit.client.close()
	other := others{client: limit.client, prefix: r.prefix()}
	if err := r.before(ctx, w, p, &m, &other); err != nil {
		return err
	}
	if err := r.beforeLimit(ctx, &m, limit, &other); err != nil {
		return err
	}
	if err := w.until(ctx, func() bool { return w.Stats().Sessions <= 1 }); err != nil {
		return err
	}
	p.first = 1
	seqs, err := r.returningPath(ctx, w, p, &m)
	if err != nil {
		return err
	}
	row.Path, row.RSS = m.Throughput, rss()
	w.stop()
	row.Limit, err = r.returningLimit(ctx, p, &m, seqs, limit)
	return err
}

// portion returns the plan of a part of the sessions. The names of sessions count
// from 0 in each part, so that it has a prefix of its own.
func (p plan) portion(i int) (part plan, suffix string) {
	p.sessions = (p.sessions*(i+1))/portions - (p.sessions*i)/portions
	p.atOnce = max(1, p.sessions)
	return p, fmt.Sprintf("%02d-", i)
}

// before stores the first calls of the sessions and, between them, other events.
func (r *rig) before(ctx context.Context, w running, p plan, m *run, other *others) error {
	count, unsubscribe, err := r.seen(m.prefix, "tool_call_result")
	if err != nil {
		return err
	}
	defer unsubscribe()
	if _, m.after, err = r.broker.EventBounds(ctx); err != nil {
		return err
	}
	total := 0
	for i := range portions {
		part, suffix := p.portion(i)
		if _, err := r.fill(ctx, m.prefix+suffix, part); err != nil {
			return err
		}
		total += part.sessions
		if err := w.until(ctx, func() bool { return count.Load() >= int64(total) }); err != nil {
			return err
		}
		if err := other.append(ctx, r.options.LogSize<<20/2/portions); err != nil {
			return err
		}
	}
	_, m.span[1], err = r.broker.InputBounds(ctx)
	return err
}

// beforeLimit stores the same for the limit.
func (r *rig) beforeLimit(ctx context.Context, m *run, limit *limiter, other *others) error {
	list, err := r.given(ctx, m, limit.prefix)
	if err != nil {
		return err
	}
	for i, g := range list {
		if err := limit.client.append(g); err != nil {
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
func (r *rig) fillPortions(ctx context.Context, prefix string, p plan) (seqs []uint64, err error) {
	for i := range portions {
		part, suffix := p.portion(i)
		more, err := r.fill(ctx, prefix+suffix, part)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, more...)
	}
	return seqs, nil
}

// returningPath measures the second calls, from their first input to their last
// result. The result has the sequences of the inputs.
func (r *rig) returningPath(ctx context.Context, w running, p plan, m *run) (seqs []uint64, err error) {
	if _, m.after, err = r.broker.EventBounds(ctx); err != nil {
		return nil, err
	}
	count, unsubscribe, err := r.seen(m.prefix, "tool_call_result")
	if err != nil {
		return nil, err
	}
	defer unsubscribe()
	runtime.GC()
	before, cpu, start := w.Stats(), cpuTime(), time.Now()
	if seqs, err = r.fillPortions(ctx, m.prefix, p); err != nil {
		return nil, err
	}
	m.span = [2]uint64{seqs[0], seqs[len(seqs)-1]}
	if err := w.until(ctx, func() bool { return count.Load() >= int64(p.sessions) }); err != nil {
		return nil, err
	}
	took := time.Since(start)
	if err := w.until(ctx, w.covers(m.span[1])); err != nil {
		return nil, err
	}
	cpu = cpuTime() - cpu
	n, after := float64(len(seqs)), w.Stats()
	m.Throughput = Throughput{
		Sessions: p.sessions, Inputs: n / took.Seconds(), Events: float64(after.Appended-before.Appended) / took.Seconds(),
		CPU: float64(cpu.Microseconds()) / n, Clock: after.Asked - before.Asked,
	}
	return seqs, nil
}

// returningLimit measures the same inputs, stored again for other sessions, and
// the events that the worker stored for them.
func (r *rig) returningLimit(ctx context.Context, p plan, m *run, seqs []uint64, limit *limiter) (t Throughput, err error) {
	if limit.list, err = r.given(ctx, m, limit.prefix); err != nil {
		return t, err
	}
	_, last, err := r.broker.InputBounds(ctx)
	if err != nil {
		return t, err
	}
	for i := range limit.list { // the new inputs have no clock inputs between them
		g := &limit.list[i]
		n, _ := slices.BinarySearch(seqs, g.input)
		g.input = last + 1 + uint64(n)
	}
	span := [2]uint64{last + 1, last + uint64(len(seqs))}
	return limit.measure(ctx, span, func() error {
		_, err := r.fillPortions(ctx, limit.prefix, p)
		return err
	})
}

// others appends events of sessions that nothing is measured of.
type others struct {
	client *minimal
	prefix string
	n      int
}

// append appends events with about so many bytes.
func (o *others) append(ctx context.Context, size int) error {
	body := make([]byte, otherBytes)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	for ; size > 0; size -= otherBytes {
		o.n++
		e := events.Event{Type: events.ToolCallArgsDelta, EventID: events.ID{Seq: 1, N: o.n}, Call: "1.0"}
		if err := o.client.append(given{token: o.prefix + strconv.Itoa(o.n%otherSessions), event: e, body: body}); err != nil {
			return err
		}
	}
	return o.client.flush(ctx)
}
