package bench

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

// Quantiles are quantiles of a latency in microseconds.
type Quantiles struct {
	P50  float64 `json:"p50_us"`
	P99  float64 `json:"p99_us"`
	P999 float64 `json:"p999_us"`
}

func quantiles(d []time.Duration) Quantiles {
	slices.Sort(d)
	at := func(q float64) float64 { return float64(d[int(q*float64(len(d)-1))].Nanoseconds()) / 1000 }
	return Quantiles{at(0.5), at(0.99), at(0.999)}
}

// Steady counts the snapshots and checkpoints that a worker writes while deltas
// arrive at the rate of the measurement and each causes an event.
type Steady struct {
	Sessions      int     `json:"sessions"`
	Snapshots     float64 `json:"snapshots_per_s"`
	SnapshotBytes float64 `json:"bytes_per_snapshot"`
	Checkpoints   float64 `json:"checkpoints_per_s"`
}

const (
	rate        = 1000             // messages per second
	receiveTime = 20 * time.Second // maximum time until the last message is received
	slice       = time.Second      // each probe runs for a slice, then the next
)

// probe is one kind of latency: publish publishes the i-th message, and sent reads
// its time from a message on the subject.
type probe struct {
	subject string
	sent    func(*nats.Msg) (int64, bool)
	publish func(i int) error
	to      *Quantiles
	all     []time.Duration
}

// latencies measures in turns, a slice each, the time from publishing a delta to
// its event at a subscriber, and the probes without streamer. All run at the same
// rate, on the same server, with the same kind of storage.
func (r *rig) latencies(ctx context.Context, m *Latencies) error {
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
	ours.to, bare[0].to, bare[1].to, bare[2].to = &m.Ours, &m.Hops, &m.Trip, &m.Received
	probes := append([]*probe{ours}, bare...)
	slices := int(max(1, r.options.Duration/slice))
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

// steady measures the snapshots and checkpoints that the worker writes while a probe
// runs.
func (r *rig) steady(ctx context.Context, p *probe, slices int) (Steady, error) {
	before, err := r.written(ctx)
	if err != nil {
		return Steady{}, err
	}
	start := time.Now()
	for range slices {
		if err := r.paced(ctx, p); err != nil {
			return Steady{}, err
		}
	}
	seconds := time.Since(start).Seconds()
	after, err := r.written(ctx)
	return after.since(before, seconds), err
}

// latencySessions is the number of sessions between which the deltas of a probe
// alternate: each has two in a second, so that each delta causes an event with the
// default settings.
const latencySessions = rate / 2

// ourProbe returns the probe of streamer. It starts a worker with the default settings
// and opens a call in each of latencySessions sessions.
func (r *rig) ourProbe(ctx context.Context) (p *probe, stop func(), err error) {
	if err := r.setRules(ctx, lifecycle.Coalesced); err != nil {
		return nil, nil, err
	}
	prefix := r.prefix()
	count, unsubscribe, err := r.seen(prefix, "tool_call_start")
	if err != nil {
		return nil, nil, err
	}
	defer unsubscribe()
	w := r.work(ctx, worker.Options{})
	f := r.newFiller()
	token := func(i int) string { return prefix + strconv.Itoa(i%latencySessions) }
	for s := range latencySessions {
		if err == nil {
			_, body := callInput(token(s), 0, 0, MinPerCall)
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
			args := fmt.Sprintf(argsDelta, "t"+strconv.FormatInt(time.Now().UnixNano(), 10))
			return f.input(ctx, token(i), inputs.Delta, fmt.Sprintf(chunk, token(i), 0, args, "null"))
		},
	}, w.stop, nil
}

// stamp returns the time in a message, in nanoseconds.
func stamp(s string) (int64, bool) {
	if len(s) < 2 || s[0] != 't' {
		return 0, false
	}
	n, err := strconv.ParseInt(s[1:], 10, 64)
	return n, err == nil
}

// paced publishes for one slice and measures when the messages are received.
func (r *rig) paced(ctx context.Context, p *probe) error {
	n := int(slice.Seconds() * rate)
	received := make(chan time.Duration, n)
	sub, err := r.nc.Subscribe(p.subject, func(m *nats.Msg) {
		if at, ok := p.sent(m); ok {
			select {
			case received <- time.Duration(time.Now().UnixNano() - at):
			default: // more than were published: from another client
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
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		if err := p.publish(i); err != nil {
			return err
		}
	}
	late := time.After(receiveTime)
	for range n {
		select {
		case d := <-received:
			p.all = append(p.all, d)
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("received only %d of %d messages on %s", len(p.all)%n, n, p.subject)
		}
	}
	return nil
}

// written is what a worker has written so far besides events.
type written struct {
	snapshots, checkpoints uint64  // messages
	snapshotSize           float64 // bytes of a snapshot, on average
}

func (r *rig) written(ctx context.Context) (w written, err error) {
	js, err := r.jetStream()
	if err != nil {
		return w, err
	}
	for name, take := range map[string]func(last, messages, bytes uint64){
		"KV_STREAMER_SNAPSHOT": func(last, messages, bytes uint64) {
			w.snapshots, w.snapshotSize = last, float64(bytes)/float64(max(1, messages))
		},
		"KV_STREAMER_CHECKPOINT": func(last, _, _ uint64) { w.checkpoints = last },
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

func (w written) since(before written, seconds float64) Steady {
	return Steady{
		Sessions: latencySessions, Snapshots: float64(w.snapshots-before.snapshots) / seconds,
		SnapshotBytes: w.snapshotSize, Checkpoints: float64(w.checkpoints-before.checkpoints) / seconds,
	}
}
