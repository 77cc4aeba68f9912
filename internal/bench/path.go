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
	Clock    uint64  `json:"clock_inputs,omitempty"`
}

// setRules puts rules into force for inputs that are stored from now on.
// Throughput is measured without events about streaming args: how many deltas
// share an event by default depends on how fast they were stored.
func (r *rig) setRules(ctx context.Context, deltas lifecycle.Deltas) error {
	rules := lifecycle.DefaultRules()
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

// run is the measurement of a worker, and what is needed to store the same events
// without streamer.
type run struct {
	Throughput
	prefix string    // of the names of its sessions
	span   [2]uint64 // the first and the last sequence of its inputs
	after  uint64    // its events follow this sequence of the event log
	calls  int
}

// path stores the inputs of p while no worker runs, and measures a worker from its
// first input, when it has loaded its snapshots, until a subscriber has received
// the last result. The CPU includes that of writing all snapshots.
func (r *rig) path(ctx context.Context, p plan) (m run, err error) {
	m = run{prefix: r.prefix(), calls: p.calls * p.sessions}
	seqs, err := r.fill(ctx, m.prefix, p)
	if err != nil {
		return m, err
	}
	m.span = [2]uint64{seqs[0], seqs[len(seqs)-1]}
	if _, m.after, err = r.broker.EventBounds(ctx); err != nil {
		return m, err
	}
	count, unsubscribe, err := r.seen(m.prefix, "tool_call_result")
	if err != nil {
		return m, err
	}
	defer unsubscribe()
	runtime.GC()
	w := r.work(ctx, worker.Options{})
	defer w.stop()
	if err := w.until(ctx, func() bool { return w.Stats().Folded > 0 }); err != nil {
		return m, err
	}
	m.Throughput, err = w.measure(ctx, len(seqs), m.span[1], func() bool { return count.Load() >= int64(m.calls) })
	m.Sessions = p.atOnce
	return m, err
}

// covers returns a function that reports whether checkpoints cover the inputs up to
// last.
func (w running) covers(last uint64) func() bool {
	return func() bool {
		return !slices.ContainsFunc(w.Stats().Carried, func(c worker.Carried) bool { return c.Checkpoint <= last })
	}
}

// measure measures a worker from now until done returns true. The CPU includes that
// of writing all snapshots of the inputs up to last.
func (w running) measure(ctx context.Context, inputs int, last uint64, done func() bool) (t Throughput, err error) {
	before, cpu, start := w.Stats(), cpuTime(), time.Now()
	if err := w.until(ctx, done); err != nil {
		return t, err
	}
	took, after := time.Since(start), w.Stats()
	if err := w.until(ctx, w.covers(last)); err != nil {
		return t, err
	}
	cpu = cpuTime() - cpu
	return Throughput{
		Inputs: float64(inputs) / took.Seconds(), Events: float64(after.Appended-before.Appended) / took.Seconds(),
		CPU: float64(cpu.Microseconds()) / float64(inputs), Clock: after.Asked - before.Asked,
	}, nil
}

// prefix returns a prefix of session names that was not used before. All have the
// same length.
func (r *rig) prefix() string {
	r.runs++
	return fmt.Sprintf("bench-%s-%03d-", r.nonce, r.runs)
}
