package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"
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

// The inputs of a call in OpenAI's format: chunk is a delta, in which stand the
// start of a call or a piece of its args.
const (
	chunk      = `{"id":"chatcmpl-%s-%d","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`
	callStart  = `"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]`
	argsDelta  = `"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]`
	resultBody = `{"tool_call_id":"call_%d","content":"ok"}`
)

// callInput returns kind and body of input i of the n-th call of a session. The
// call has that many inputs.
func callInput(token string, n, i, of int) (kind inputs.Kind, body string) {
	switch i {
	case 0:
		return inputs.Delta, fmt.Sprintf(chunk, token, n, fmt.Sprintf(callStart, n), "null")
	case of - 2:
		return inputs.Delta, fmt.Sprintf(chunk, token, n, fmt.Sprintf(argsDelta, `\"}`), `"tool_calls"`)
	case of - 1:
		return inputs.Result, fmt.Sprintf(resultBody, n)
	}
	return inputs.Delta, fmt.Sprintf(chunk, token, n, fmt.Sprintf(argsDelta, "abcd"), "null")
}

// filler publishes inputs without waiting for each acknowledgement.
type filler struct {
	r       *rig
	acks    chan broker.Ack
	pending int // publishes without an acknowledgement
	n       int // publishes
}

// maxPending bounds the publishes without an acknowledgement.
const maxPending = 2000

func (r *rig) newFiller() *filler { return &filler{r: r, acks: make(chan broker.Ack, maxPending)} }

// take waits for one acknowledgement.
func (f *filler) take(ctx context.Context) error {
	select {
	case a := <-f.acks:
		f.pending--
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// input publishes an input. It waits if too many are pending.
func (f *filler) input(ctx context.Context, token string, kind inputs.Kind, body string) error {
	for f.pending == maxPending {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	f.n++
	f.pending++
	b := f.r.broker
	b.Publish(b.InputPub(token, kind, fmt.Sprintf("%s:%d", token, f.n), nil, []byte(body)), f.acks)
	return nil
}

// flush waits for all acknowledgements.
func (f *filler) flush(ctx context.Context) error {
	for f.pending > 0 {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill stores about Options.Inputs inputs in Options.Sessions sessions with the
// same number of calls each. The inputs of atOnce sessions alternate; when their
// calls are complete, the next sessions follow. Inputs, sessions, calls and events
// are therefore the same for every atOnce.
func (r *rig) fill(ctx context.Context, prefix string, atOnce int) (n, calls int, err error) {
	f := r.newFiller()
	of, sessions := r.options.PerCall, r.options.Sessions
	each := r.options.Inputs / of / sessions
	for first := 0; first < sessions; first += atOnce {
		for i := range each * of {
			for s := first; s < min(first+atOnce, sessions); s++ {
				token := prefix + strconv.Itoa(s)
				kind, body := callInput(token, i/of, i%of, of)
				if err := f.input(ctx, token, kind, body); err != nil {
					return f.n, 0, err
				}
			}
		}
	}
	return f.n, each * sessions, f.flush(ctx)
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
	saved := func() bool {
		return !slices.ContainsFunc(w.Stats().Carried, func(c worker.Carried) bool { return c.Mark <= last })
	}
	if err := w.until(ctx, saved); err != nil {
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
