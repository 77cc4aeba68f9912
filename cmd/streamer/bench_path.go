package main

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

// throughput is how fast a log that waits is worked off.
type throughput struct {
	Sessions int     `json:"sessions_at_once,omitempty"`
	Inputs   float64 `json:"inputs_per_s"`
	Events   float64 `json:"events_per_s"`
	CPU      float64 `json:"cpu_us_per_input"`
}

// The inputs of a call, in OpenAI's shape: its start, args, its end, and a
// result.
const (
	benchDelta  = `{"id":"chatcmpl-%s-%d","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`
	benchStart  = `"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]`
	benchArgs   = `"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]`
	benchResult = `{"tool_call_id":"call_%d","content":"ok"}`

	fewestInputs = 3 // of a call
)

// callInput gives kind and body of the i-th of the inputs of a session's n-th
// call, of which there are so many.
func callInput(token string, n, i, of int) (kind inputs.Kind, body string) {
	switch i {
	case 0:
		return inputs.Delta, fmt.Sprintf(benchDelta, token, n, fmt.Sprintf(benchStart, n), "null")
	case of - 2:
		return inputs.Delta, fmt.Sprintf(benchDelta, token, n, fmt.Sprintf(benchArgs, `\"}`), `"tool_calls"`)
	case of - 1:
		return inputs.Result, fmt.Sprintf(benchResult, n)
	}
	return inputs.Delta, fmt.Sprintf(benchDelta, token, n, fmt.Sprintf(benchArgs, "abcd"), "null")
}

// filling publishes inputs, many at once.
type filling struct {
	r      *rig
	acks   chan broker.Ack
	flying int
	n      int
}

const benchWindow = 2000

func (r *rig) filling() *filling { return &filling{r: r, acks: make(chan broker.Ack, benchWindow)} }

func (f *filling) take(ctx context.Context) error {
	select {
	case a := <-f.acks:
		f.flying--
		return a.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *filling) input(ctx context.Context, token string, kind inputs.Kind, body string) error {
	for f.flying == benchWindow {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	f.n++
	f.flying++
	b := f.r.broker
	b.Publish(b.InputPub(token, kind, fmt.Sprintf("%s:%d", token, f.n), nil, []byte(body)), f.acks)
	return nil
}

func (f *filling) flush(ctx context.Context) error {
	for f.flying > 0 {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill stores about as many inputs as were asked for, in as many sessions as
// were asked for, each of which makes as many calls. atOnce of them take turns,
// input by input; when these have made their calls come the next. So however
// many are at it at once, the inputs, sessions, calls and events are the same.
func (r *rig) fill(ctx context.Context, prefix string, atOnce int) (n, calls int, err error) {
	f := r.filling()
	of := r.flags.perCall
	each := r.flags.inputs / of / r.flags.sessions
	for first := 0; first < r.flags.sessions; first += atOnce {
		for i := range each * of {
			for s := first; s < min(first+atOnce, r.flags.sessions); s++ {
				token := prefix + strconv.Itoa(s)
				kind, body := callInput(token, i/of, i%of, of)
				if err := f.input(ctx, token, kind, body); err != nil {
					return f.n, 0, err
				}
			}
		}
	}
	return f.n, each * r.flags.sessions, f.flush(ctx)
}

// rule puts rules into force for what is stored from now on. For throughput no
// args are told while they stream: how many deltas share an event by default
// depends on how fast they are stored, and so on all but the program.
func (r *rig) rule(ctx context.Context, told lifecycle.Deltas) error {
	rules := lifecycle.NewRules()
	rules.Deltas = told
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

// working is a worker that runs until stop returns.
type working struct {
	*worker.Worker
	stop func()
}

func (r *rig) work(ctx context.Context, o worker.Options) working {
	o.Nonce, o.Rules = nuid.Next(), r.rules
	w := &worker.Worker{Log: r.broker, Logger: r.log, Options: o}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Run(ctx, partitions(r.broker.Partitions())) })
	return working{w, sync.OnceFunc(func() { cancel(); wg.Wait() })}
}

// until waits until done, and says what stopped the worker if it cannot be.
func (w working) until(ctx context.Context, done func() bool) error {
	return until(ctx, done, w.Problem)
}

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

// seen counts the events of a type that subscribers see of sessions with a
// name that begins so. It is n once all are.
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

// path stores inputs while nobody works, and measures a worker from when it
// has read its saved states until a subscriber has seen the end of every call.
// CPU is counted until all is saved as well. span is where the inputs stand in
// the log.
func (r *rig) path(ctx context.Context, atOnce int) (t throughput, span [2]uint64, err error) {
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
	t = throughput{
		Sessions: atOnce, Inputs: float64(n) / took.Seconds(),
		Events: float64(events) / took.Seconds(), CPU: float64(cpu.Microseconds()) / float64(n),
	}
	return t, [2]uint64{before + 1, last}, nil
}

// prefix is that of the names of sessions nobody used before.
func (r *rig) prefix() string {
	r.paths++
	return fmt.Sprintf("bench-%s-%d-", r.nonce, r.paths)
}
