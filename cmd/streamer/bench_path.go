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
	"streamer/internal/lifecycle"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// throughput is how fast a log that waits is worked off.
type throughput struct {
	Sessions int     `json:"sessions"`
	Inputs   float64 `json:"inputs_per_s"`
	Events   float64 `json:"events_per_s"`
	CPU      float64 `json:"cpu_us_per_delta"`
}

// delays are quantiles in microseconds.
type delays struct {
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
}

func quantiles(d []time.Duration) delays {
	slices.Sort(d)
	at := func(q float64) float64 { return float64(d[int(q*float64(len(d)-1))].Nanoseconds()) / 1000 }
	return delays{at(0.5), at(0.99), at(0.999)}
}

// openCost is what sessions with an open call cost.
type openCost struct {
	Sessions int     `json:"sessions"`
	Rate     float64 `json:"opened_per_s"`
	Bytes    float64 `json:"bytes_per_session"`
	Recovery float64 `json:"recovery_ms"`
}

// The deltas of a call, in OpenAI's shape: its start, args and its end.
const (
	benchDelta = `{"id":"chatcmpl-%s","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_50cad350e4","choices":[{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}],"usage":null}`
	benchStart = `"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"search","arguments":"{\"q\":\""}}]`
	benchArgs  = `"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]`
)

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

func (f *filling) delta(ctx context.Context, token, delta, finish string) error {
	for f.flying == benchWindow {
		if err := f.take(ctx); err != nil {
			return err
		}
	}
	f.n++
	f.flying++
	data := fmt.Sprintf(benchDelta, token, delta, finish)
	b := f.r.broker
	b.Publish(b.InputPub(token, broker.KindDelta, fmt.Sprintf("%s:%d", token, f.n), nil, []byte(data)), f.acks)
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

// fill stores about as many inputs as were asked for: a call per session, the
// deltas of all sessions in turn.
func (r *rig) fill(ctx context.Context, prefix string, sessions int) (n int, err error) {
	f := r.filling()
	each := r.flags.inputs / sessions
	for i := range each {
		delta, finish := fmt.Sprintf(benchArgs, "abcd"), "null"
		switch i {
		case 0:
			delta = benchStart
		case each - 1:
			delta, finish = fmt.Sprintf(benchArgs, `\"}`), `"tool_calls"`
		}
		for s := range sessions {
			if err := f.delta(ctx, prefix+strconv.Itoa(s), delta, finish); err != nil {
				return f.n, err
			}
		}
	}
	return f.n, f.flush(ctx)
}

// working is a worker that runs until stop returns.
type working struct {
	*worker.Worker
	stop func()
}

func (r *rig) work(ctx context.Context, o worker.Options) working {
	o.Nonce = nuid.Next()
	w := &worker.Worker{Log: r.broker, Logger: r.log, Options: o}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Run(ctx, partitions(r.broker.Partitions())) })
	return working{w, func() { cancel(); wg.Wait() }}
}

// until waits until done, and says what stopped the worker if it cannot be.
func (w working) until(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), w.Problem())
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
	_ = sub.SetPendingLimits(-1, -1) // bounded by the number of sessions
	return count, func() { _ = sub.Unsubscribe() }, r.nc.Flush()
}

// path stores inputs while nobody works, and measures how long a worker takes
// until a subscriber has seen the end of every call. span is where they stand
// in the log.
func (r *rig) path(ctx context.Context, sessions int) (t throughput, span [2]uint64, err error) {
	r.paths++
	prefix := fmt.Sprintf("bench-%s-p%d-", r.nonce, r.paths)
	_, before, err := r.broker.InputBounds(ctx)
	if err != nil {
		return t, span, err
	}
	n, err := r.fill(ctx, prefix, sessions)
	if err != nil {
		return t, span, err
	}
	_, last, err := r.broker.InputBounds(ctx)
	if err != nil {
		return t, span, err
	}
	count, unsubscribe, err := r.seen(prefix, "tool_call_args_complete")
	if err != nil {
		return t, span, err
	}
	defer unsubscribe()
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	w := r.work(ctx, worker.Options{})
	defer w.stop()
	if err := w.until(ctx, func() bool { return count.Load() >= int64(sessions) }); err != nil {
		return t, span, err
	}
	took, cpu := time.Since(start), cpuTime()-cpu
	t = throughput{
		Sessions: sessions, Inputs: float64(n) / took.Seconds(),
		Events: float64(w.Stats().Appended) / took.Seconds(), CPU: float64(cpu.Microseconds()) / float64(n),
	}
	return t, [2]uint64{before + 1, last}, nil
}

const (
	benchRate = 1000             // the pace of latency, per second
	heardTime = 20 * time.Second // how late the last message may be heard
)

// latency measures from the publishing of a delta to its event at a
// subscriber. Every delta is told, so that each has its event.
func (r *rig) latency(ctx context.Context) (delays, error) {
	const sessions = 100
	rules := lifecycle.DefaultRules()
	rules.Deltas = lifecycle.Every
	w := r.work(ctx, worker.Options{Rules: &rules})
	defer w.stop()
	prefix := fmt.Sprintf("bench-%s-l", r.nonce)
	count, unsubscribe, err := r.seen(prefix, "tool_call_start")
	if err != nil {
		return delays{}, err
	}
	defer unsubscribe()
	f := r.filling()
	for s := range sessions {
		if err := f.delta(ctx, prefix+strconv.Itoa(s), benchStart, "null"); err != nil {
			return delays{}, err
		}
	}
	if err := w.until(ctx, func() bool { return count.Load() >= sessions }); err != nil {
		return delays{}, err
	}
	return r.paced(ctx, "toolcalls.*.event.tool_call_args_delta",
		func(m *nats.Msg) (int64, bool) {
			var e struct{ Args string }
			err := json.Unmarshal(m.Data, &e)
			at, ok := stamp(e.Args)
			return at, ok && err == nil
		},
		func(i int) error {
			return f.delta(ctx, prefix+strconv.Itoa(i%sessions), fmt.Sprintf(benchArgs, "t"+strconv.FormatInt(time.Now().UnixNano(), 10)), "null")
		})
}

// stamp reads the time that a delta's args carry.
func stamp(s string) (int64, bool) {
	if len(s) < 2 || s[0] != 't' {
		return 0, false
	}
	n, err := strconv.ParseInt(s[1:], 10, 64)
	return n, err == nil
}

// paced publishes at the pace of benchRate, and measures when what carries
// those stamps is heard on a subject.
func (r *rig) paced(ctx context.Context, subject string, sent func(*nats.Msg) (int64, bool), publish func(i int) error) (delays, error) {
	n := int(r.flags.duration.Seconds() * benchRate)
	heard := make(chan time.Duration, n)
	sub, err := r.nc.Subscribe(subject, func(m *nats.Msg) {
		if at, ok := sent(m); ok {
			select {
			case heard <- time.Duration(time.Now().UnixNano() - at):
			default: // somebody else's
			}
		}
	})
	if err != nil {
		return delays{}, fmt.Errorf("subscribing: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := r.nc.Flush(); err != nil {
		return delays{}, fmt.Errorf("subscribing: %w", err)
	}
	tick := time.NewTicker(time.Second / benchRate)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		if err := publish(i); err != nil {
			return delays{}, err
		}
	}
	late := time.After(heardTime)
	all := make([]time.Duration, 0, n)
	for len(all) < n {
		select {
		case d := <-heard:
			all = append(all, d)
		case <-ctx.Done():
			return delays{}, ctx.Err()
		case <-late:
			return delays{}, fmt.Errorf("only %d of %d were heard", len(all), n)
		}
	}
	return quantiles(all), nil
}

// openSessions opens a call in each of many sessions, measures what the worker
// holds, and how long another takes to go on from there.
func (r *rig) openSessions(ctx context.Context) (c openCost, err error) {
	c.Sessions = r.flags.sessions
	prefix := fmt.Sprintf("bench-%s-o", r.nonce)
	f := r.filling()
	for s := range c.Sessions {
		if err := f.delta(ctx, prefix+strconv.Itoa(s), benchStart, "null"); err != nil {
			return c, err
		}
	}
	if err := f.flush(ctx); err != nil {
		return c, err
	}
	count, unsubscribe, err := r.seen(prefix, "tool_call_start")
	if err != nil {
		return c, err
	}
	defer unsubscribe()
	start := time.Now()
	w := r.work(ctx, worker.Options{})
	stop := sync.OnceFunc(func() { w.stop() })
	defer stop()
	if err := w.until(ctx, func() bool { return count.Load() >= int64(c.Sessions) }); err != nil {
		return c, err
	}
	c.Rate = float64(c.Sessions) / time.Since(start).Seconds()
	if err := w.until(ctx, func() bool { return w.Stats().Saves >= uint64(c.Sessions) }); err != nil {
		return c, err
	}
	with := heap()
	stop()
	w.Worker = nil
	c.Bytes = max(0, float64(with)-float64(heap())) / float64(c.Sessions)
	took, err := r.recover(ctx, c.Sessions)
	c.Recovery = float64(took.Microseconds()) / 1000
	return c, err
}

// recover measures how long a new worker takes until it has read everything
// and knows the open calls, whose alarms are then set.
func (r *rig) recover(ctx context.Context, sessions int) (time.Duration, error) {
	_, last, err := r.broker.InputBounds(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	w := r.work(ctx, worker.Options{SaveEvery: 20 * time.Millisecond}) // the pace at which it counts open calls
	defer w.stop()
	err = w.until(ctx, func() bool {
		s := w.Stats()
		if s.Open < sessions || len(s.Carried) < r.broker.Partitions() {
			return false
		}
		for _, c := range s.Carried {
			if c.Next <= last {
				return false
			}
		}
		return true
	})
	return time.Since(start), err
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
