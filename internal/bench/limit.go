package bench

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

	"streamer/internal/events"

	"github.com/nats-io/nats.go/jetstream"
)

// given returns the events that a run stored, in the order of their inputs, for
// sessions of other names. The names have the same length, so that the events have
// the same bytes.
func (r *rig) given(ctx context.Context, m *run, prefix string) (list []given, err error) {
	if len(prefix) != len(m.prefix) {
		return nil, fmt.Errorf("prefix %q has not the length of %q", prefix, m.prefix)
	}
	err = r.broker.Events(ctx, "", m.after, func(e events.Record) error {
		if rest, ok := strings.CutPrefix(e.Token, m.prefix); ok && e.ID.Seq <= m.span[1] {
			list = append(list, given{
				input: e.ID.Seq, token: prefix + rest, event: events.Event{Type: e.Type, EventID: e.ID, Call: e.Call},
				body: bytes.ReplaceAll(e.Data, []byte(m.prefix), []byte(prefix)),
			})
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b given) int { return compareIDs(a.event.EventID, b.event.EventID) })
	return list, err
}

// limit is the work that no program can avoid which stores the events of a run: it
// reads the run's inputs with the NATS library, and a minimal client appends the
// events that the inputs gave there. It is measured until a subscriber has received
// the last result.
func (r *rig) limit(ctx context.Context, m *run) (t Throughput, err error) {
	l, err := r.newLimit(m, r.prefix())
	if err != nil {
		return t, err
	}
	defer l.client.close()
	if l.list, err = r.given(ctx, m, l.prefix); err != nil {
		return t, err
	}
	return l.measure(ctx, m.span, func() error { return nil })
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
	list   []given
}

func (r *rig) newLimit(m *run, prefix string) (*limiter, error) {
	client, err := r.newMinimal()
	return &limiter{r: r, client: client, prefix: prefix, calls: m.calls}, err
}

// measure measures the inputs in span. They may be stored by fill, which runs
// meanwhile.
func (l *limiter) measure(ctx context.Context, span [2]uint64, fill func() error) (t Throughput, err error) {
	count, unsubscribe, err := l.r.seen(l.prefix, "tool_call_result")
	if err != nil {
		return t, err
	}
	defer unsubscribe()
	js, err := l.r.jetStream()
	if err != nil {
		return t, err
	}
	consumer, err := js.OrderedConsumer(ctx, "LLM", jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: span[0],
	})
	if err != nil {
		return t, fmt.Errorf("consumer of stream LLM: %w", err)
	}
	done := make(chan error, 1)
	next, all := 0, len(l.list)
	var n atomic.Int64 // clock inputs can follow the span
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	reading, err := consumer.Consume(func(m jetstream.Msg) {
		meta, err := m.Metadata()
		for n.Add(1); err == nil && next < len(l.list) && l.list[next].input <= meta.Sequence.Stream; next++ {
			err = l.client.append(l.list[next])
			l.list[next] = given{}
		}
		if err != nil || meta.Sequence.Stream >= span[1] {
			select {
			case done <- err:
			default:
			}
		}
	}, jetstream.PullMaxMessages(5000))
	if err != nil {
		return t, fmt.Errorf("consumer of stream LLM: %w", err)
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
		err = until(ctx, func() bool { return count.Load() >= int64(l.calls) }, func() error { return nil })
	}
	took, cpu := time.Since(start).Seconds(), cpuTime()-cpu
	return Throughput{
		Inputs: float64(n.Load()) / took, Events: float64(all) / took, CPU: float64(cpu.Microseconds()) / float64(n.Load()),
	}, err
}
