package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"streamer/internal/bench"
	"streamer/internal/events"

	"github.com/nats-io/nats.go/jetstream"
)

// eventsOf returns the events that a run stored, in the order of their inputs, for
// sessions of other names. The names have the same length, so that the events have
// the same bytes.
func (r *rig) eventsOf(ctx context.Context, m *bench.PathRun, prefix string) (list []event, err error) {
	if len(prefix) != len(m.Prefix) {
		return nil, fmt.Errorf("prefix %q has not the length of %q", prefix, m.Prefix)
	}
	err = r.Broker.Events(ctx, "", m.After, func(e events.Record) error {
		if rest, ok := strings.CutPrefix(e.Token, m.Prefix); ok && e.ID.Seq <= m.Span[1] {
			list = append(list, event{
				input: e.ID.Seq, token: prefix + rest, meta: events.Event{Type: e.Type, EventID: e.ID, Call: e.Call},
				body: bytes.ReplaceAll(e.Data, []byte(m.Prefix), []byte(prefix)),
			})
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b event) int { return compareIDs(a.meta.EventID, b.meta.EventID) })
	return list, err
}

// limit is the work that no program can avoid which stores the events of a run: it
// reads the run's inputs with the NATS library, and a minimal client appends the
// events that the inputs gave there. It is measured until a subscriber has received
// the last result.
func (r *rig) limit(ctx context.Context, m *bench.PathRun) (t bench.Throughput, err error) {
	l, err := r.newLimit(ctx, m, r.Prefix())
	if err != nil {
		return t, err
	}
	if l.list, err = r.eventsOf(ctx, m, l.prefix); err != nil {
		return t, err
	}
	return l.measure(ctx, m.Span, func() error { return nil })
}

func compareIDs(a, b events.ID) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N))
}

// limiter measures the limit of a run.
type limiter struct {
	r      *rig
	client *minimal
	prefix string
	calls  int
	list   []event
}

func (r *rig) newLimit(ctx context.Context, m *bench.PathRun, prefix string) (*limiter, error) {
	client, err := r.newMinimal(ctx)
	return &limiter{r: r, client: client, prefix: prefix, calls: m.Calls}, err
}

// measure measures the inputs in span. They may be stored by fill, which runs
// meanwhile.
func (l *limiter) measure(ctx context.Context, span [2]uint64, fill func() error) (t bench.Throughput, err error) {
	count, unsubscribe, err := l.r.Count(l.prefix, events.ToolCallResult)
	if err != nil {
		return t, err
	}
	defer unsubscribe()
	js, err := l.r.jetStream()
	if err != nil {
		return t, err
	}
	done := make(chan error, 1)
	next, all := 0, len(l.list)
	var n atomic.Int64 // clock inputs can follow the span
	runtime.GC()
	cpu, start := bench.CPUTime(), time.Now()
	reading, err := l.r.consume(ctx, js, "LLM", from(span[0]), func(m jetstream.Msg) {
		meta, err := m.Metadata()
		for n.Add(1); err == nil && next < len(l.list) && l.list[next].input <= meta.Sequence.Stream; next++ {
			err = l.client.append(l.list[next])
			l.list[next] = event{}
		}
		if err != nil || meta.Sequence.Stream >= span[1] {
			report(done, err)
		}
	})
	if err != nil {
		return t, err
	}
	defer reading.Stop()
	if err := fill(); err != nil {
		return t, err
	}
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		err = l.client.flush(ctx)
	}
	if err == nil {
		err = bench.Until(ctx, func() bool { return count.Load() >= int64(l.calls) }, func() error { return nil })
	}
	took, cpu := time.Since(start).Seconds(), bench.CPUTime()-cpu
	return bench.Throughput{
		Inputs: float64(n.Load()) / took, Events: float64(all) / took, CPU: float64(cpu.Microseconds()) / float64(n.Load()),
	}, err
}
