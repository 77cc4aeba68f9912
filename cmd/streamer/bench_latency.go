package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go"
)

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

// steady is what a worker writes besides events while deltas come at
// benchRate, each of which is told.
type steady struct {
	Sessions   int     `json:"sessions"`
	States     float64 `json:"states_per_s"`
	StateBytes float64 `json:"bytes_per_state"`
	Marks      float64 `json:"marks_per_s"`
}

const (
	benchRate = 1000             // the pace of latency, per second
	heardTime = 20 * time.Second // how late the last message may be heard
	slice     = time.Second      // each kind is measured for so long, then the next
)

// probe is one kind of latency: messages published in turn, and how a time
// stamp is read off what is heard on a subject.
type probe struct {
	subject string
	sent    func(*nats.Msg) (int64, bool)
	publish func(i int) error
	to      *delays
	all     []time.Duration
}

// latencies measures by turns, a second each, from the publishing of a delta
// to its event at a subscriber, and what the server alone takes for a message:
// stored, read by a consumer, stored again and heard; stored and heard; and
// only heard. All at the same pace, on the same server, with the same kind of
// storage.
func (r *rig) latencies(ctx context.Context, m *delayed) error {
	ours, stop, err := r.ourProbe(ctx)
	if err != nil {
		return err
	}
	defer stop()
	bare, undo, err := r.bareProbes(ctx)
	if err != nil {
		return err
	}
	defer undo()
	ours.to, bare[0].to, bare[1].to, bare[2].to = &m.Ours, &m.Hops, &m.Trip, &m.Heard
	probes := append([]*probe{ours}, bare...)
	slices := int(max(1, r.flags.duration/slice))
	for range slices {
		for _, p := range probes {
			if err := r.paced(ctx, p); err != nil {
				return err
			}
		}
	}
	for _, p := range probes {
		*p.to = quantiles(p.all)
	}
	m.Late, m.LateOne = m.Ours.P99/m.Hops.P99, m.Ours.P99/m.Trip.P99
	m.Steady, err = r.steady(ctx, ours, slices)
	return err
}

// steady measures what the worker writes while it tells a probe's deltas.
func (r *rig) steady(ctx context.Context, p *probe, slices int) (steady, error) {
	before, err := r.written(ctx)
	if err != nil {
		return steady{}, err
	}
	start := time.Now()
	for range slices {
		if err := r.paced(ctx, p); err != nil {
			return steady{}, err
		}
	}
	seconds := time.Since(start).Seconds()
	after, err := r.written(ctx)
	return after.since(before, seconds), err
}

const latencySessions = 100

// ourProbe starts a worker under which every delta is told, and opens a call
// in each of some sessions.
func (r *rig) ourProbe(ctx context.Context) (p *probe, stop func(), err error) {
	if err := r.rule(ctx, lifecycle.Every); err != nil {
		return nil, nil, err
	}
	prefix := r.prefix()
	count, unsubscribe, err := r.seen(prefix, "tool_call_start")
	if err != nil {
		return nil, nil, err
	}
	defer unsubscribe()
	w := r.work(ctx, worker.Options{})
	f := r.filling()
	token := func(i int) string { return prefix + strconv.Itoa(i%latencySessions) }
	for s := range latencySessions {
		if err == nil {
			_, body := callInput(token(s), 0, 0, fewestInputs)
			err = f.input(ctx, token(s), inputs.Delta, body)
		}
	}
	if err == nil {
		err = w.until(ctx, func() bool { return count.Load() >= latencySessions })
	}
	if err != nil {
		w.stop()
		return nil, nil, err
	}
	return &probe{
		subject: "toolcalls.*.event.tool_call_args_delta",
		sent: func(m *nats.Msg) (int64, bool) {
			var e struct{ Args string }
			err := json.Unmarshal(m.Data, &e)
			at, ok := stamp(e.Args)
			return at, ok && err == nil
		},
		publish: func(i int) error {
			args := fmt.Sprintf(benchArgs, "t"+strconv.FormatInt(time.Now().UnixNano(), 10))
			return f.input(ctx, token(i), inputs.Delta, fmt.Sprintf(benchDelta, token(i), 0, args, "null"))
		},
	}, w.stop, nil
}

// stamp reads the time that a message carries.
func stamp(s string) (int64, bool) {
	if len(s) < 2 || s[0] != 't' {
		return 0, false
	}
	n, err := strconv.ParseInt(s[1:], 10, 64)
	return n, err == nil
}

// paced publishes for one slice at the pace of benchRate, and measures when
// what carries those stamps is heard.
func (r *rig) paced(ctx context.Context, p *probe) error {
	n := int(slice.Seconds() * benchRate)
	heard := make(chan time.Duration, n)
	sub, err := r.nc.Subscribe(p.subject, func(m *nats.Msg) {
		if at, ok := p.sent(m); ok {
			select {
			case heard <- time.Duration(time.Now().UnixNano() - at):
			default: // somebody else's
			}
		}
	})
	if err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := r.nc.Flush(); err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	tick := time.NewTicker(time.Second / benchRate)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		if err := p.publish(i); err != nil {
			return err
		}
	}
	late := time.After(heardTime)
	for range n {
		select {
		case d := <-heard:
			p.all = append(p.all, d)
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("only %d of %d were heard on %s", len(p.all)%n, n, p.subject)
		}
	}
	return nil
}

// written is how much a worker has written so far besides events.
type written struct {
	states, marks uint64  // messages
	stateSize     float64 // bytes of a saved state, on average
}

func (r *rig) written(ctx context.Context) (w written, err error) {
	js, err := r.jetStream()
	if err != nil {
		return w, err
	}
	for name, take := range map[string]func(last, messages, bytes uint64){
		"KV_STREAMER_STATE": func(last, messages, bytes uint64) {
			w.states, w.stateSize = last, float64(bytes)/float64(max(1, messages))
		},
		"KV_STREAMER_MARK": func(last, _, _ uint64) { w.marks = last },
	} {
		s, err := js.Stream(ctx, name)
		if err != nil {
			return w, fmt.Errorf("stream %s: %w", name, err)
		}
		state := s.CachedInfo().State
		take(state.LastSeq, state.Msgs, state.Bytes)
	}
	return w, nil
}

func (w written) since(before written, seconds float64) steady {
	return steady{
		Sessions: latencySessions, States: float64(w.states-before.states) / seconds,
		StateBytes: w.stateSize, Marks: float64(w.marks-before.marks) / seconds,
	}
}
