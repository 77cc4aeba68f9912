package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/lifecycle"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// Throughput is the rate at which stored inputs are folded, and its cost.
type Throughput struct {
	Sessions int     `json:"sessions_at_once,omitempty"`
	Inputs   float64 `json:"inputs_per_s"`
	Events   float64 `json:"events_per_s"`
	CPU      float64 `json:"cpu_us_per_input"`
}

// setRules puts rules into force for inputs that are stored from now on.
// Throughput is measured without events about streaming args: how many deltas
// share an event by default depends on how fast they were stored.
func (r *rig) setRules(ctx context.Context, deltas lifecycle.Deltas) error {
	rules := lifecycle.NewRules()
	rules.Deltas = deltas
	data, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	for p := range r.broker.Partitions() {
		if a := r.broker.PublishWait(ctx, r.broker.RulesPub(p, "rules:"+nuid.Next(), data)); a.Err != nil {
			return fmt.Errorf("rules: %w", a.Err)
		}
	}
	r.rules = &rules
	return nil
}

// running is a worker that runs until stop returns.
type running struct {
	*worker.Worker
	stop func()
}

func (r *rig) work(ctx context.Context, o worker.Options) running {
	o.Nonce, o.Rules = nuid.Next(), r.rules
	all := make([]int, r.broker.Partitions())
	for i := range all {
		all[i] = i
	}
	w := &worker.Worker{Log: r.broker, Logger: r.log, Options: o}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Run(ctx, all) })
	return running{w, sync.OnceFunc(func() { cancel(); wg.Wait() })}
}

// until waits until done returns true. Its error names what stopped the worker.
func (w running) until(ctx context.Context, done func() bool) error {
	return until(ctx, done, w.Problem)
}

// until waits until done returns true or ctx ends. Its error includes that of why.
func until(ctx context.Context, done func() bool, why func() error) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), why())
		}
	}
	return nil
}

// seen counts the events of a type that a subscriber receives of sessions whose
// names have the prefix. stop ends the subscription.
func (r *rig) seen(prefix, what string) (count *atomic.Int64, stop func(), err error) {
	count = new(atomic.Int64)
	sub, err := r.nc.Subscribe("toolcalls.*.event."+what, func(m *nats.Msg) {
		if rest := m.Subject[len("toolcalls."):]; len(rest) > len(prefix) && rest[:len(prefix)] == prefix {
			count.Add(1)
		}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("subscribing: %w", err)
	}
	_ = sub.SetPendingLimits(-1, -1) // bounded by the number of calls
	return count, func() { _ = sub.Unsubscribe() }, r.nc.Flush()
}

// path stores inputs while no worker runs, and measures a worker from its first
// input, when it has loaded its snapshots, until a subscriber has received the
// last result. The CPU includes that of writing all snapshots. span is the first
// and the last sequence of the inputs.
func (r *rig) path(ctx context.Context, atOnce int) (t Throughput, span [2]uint64, err error) {
	prefix := r.prefix()
	_, before, err := r.broker.InputBounds(ctx)
	if err != nil {
		return t, span, err
	}
	n, calls, err := r.fill(ctx, prefix, atOnce)
	if err != nil {
		return t, span, err
	}
	_, last, err := r.broker.InputBounds(ctx)
	if err != nil {
		return t, span, err
	}
	count, unsubscribe, err := r.seen(prefix, "tool_call_result")
	if err != nil {
		return t, span, err
	}
	defer unsubscribe()
	runtime.GC()
	w := r.work(ctx, worker.Options{})
	defer w.stop()
	if err := w.until(ctx, func() bool { return w.Stats().Folded > 0 }); err != nil {
		return t, span, err
	}
	cpu, start := cpuTime(), time.Now()
	if err := w.until(ctx, func() bool { return count.Load() >= int64(calls) }); err != nil {
		return t, span, err
	}
	took, events := time.Since(start), w.Stats().Appended
	covered := func() bool {
		return !slices.ContainsFunc(w.Stats().Carried, func(c worker.Carried) bool { return c.Checkpoint <= last })
	}
	if err := w.until(ctx, covered); err != nil {
		return t, span, err
	}
	cpu = cpuTime() - cpu
	t = Throughput{
		Sessions: atOnce, Inputs: float64(n) / took.Seconds(),
		Events: float64(events) / took.Seconds(), CPU: float64(cpu.Microseconds()) / float64(n),
	}
	return t, [2]uint64{before + 1, last}, nil
}

// prefix returns a prefix of session names that was not used before.
func (r *rig) prefix() string {
	r.runs++
	return fmt.Sprintf("bench-%s-%d-", r.nonce, r.runs)
}
