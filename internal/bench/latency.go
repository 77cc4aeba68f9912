package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"streamer/internal/events"
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

const (
	rate        = 1000             // messages per second
	receiveTime = 20 * time.Second // maximum time until the last message is received
)

// LatencySessions is the number of sessions between which deltas alternate. Each has
// two in a second, so that each delta causes an event with the default settings.
const LatencySessions = rate / 2

// Probe is one kind of latency: Publish publishes the i-th message, which has the
// current time as the text that Text reads from a message on the subject.
type Probe struct {
	Subject string
	Text    func(*nats.Msg) string
	Publish func(i int, text string) error
	delays  []time.Duration
}

// Quantiles returns the quantiles of the measured delays.
func (p *Probe) Quantiles() Quantiles { return quantiles(p.delays) }

func (r *Rig) latency(ctx context.Context, duration time.Duration) (q Quantiles, err error) {
	p, stop, err := r.DeltaProbe(ctx)
	if err != nil {
		return q, err
	}
	defer stop()
	for range duration / time.Second {
		if err := r.Second(ctx, p); err != nil {
			return q, err
		}
	}
	return p.Quantiles(), nil
}

// DeltaProbe returns the probe of streamer. It starts a worker with the default settings
// and opens a call in each of LatencySessions sessions. stop stops the worker.
func (r *Rig) DeltaProbe(ctx context.Context) (p *Probe, stop func(), err error) {
	if err := r.SetRules(ctx, lifecycle.Coalesced); err != nil {
		return nil, nil, err
	}
	prefix := r.Prefix()
	count, unsubscribe, err := r.Count(prefix, events.ToolCallStart)
	if err != nil {
		return nil, nil, err
	}
	defer unsubscribe()
	w := r.Work(ctx, worker.Options{})
	if _, err = r.Fill(ctx, prefix, openCalls(LatencySessions)); err == nil {
		err = w.Until(ctx, func() bool { return count.Load() >= LatencySessions })
	}
	if err != nil {
		w.Stop()
		return nil, nil, err
	}
	return &Probe{
		Subject: "toolcalls.*.event." + string(events.ToolCallArgsDelta),
		Text: func(m *nats.Msg) string {
			var e struct{ Args string }
			_ = json.Unmarshal(m.Data, &e) // then there is no text
			return e.Args
		},
		Publish: func(i int, text string) error {
			token := prefix + strconv.Itoa(i%LatencySessions)
			return r.input(ctx, token, inputs.Delta, fmt.Sprintf(chunk, token, 0, fmt.Sprintf(argsDelta, text), "null"))
		},
	}, w.Stop, nil
}

func now() string { return strconv.FormatInt(time.Now().UnixNano(), 10) }

// since returns the time since the one in a text of now.
func since(text string) (time.Duration, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Since(time.Unix(0, n)), err == nil && n > 0
}

// Second publishes for a second and measures when the messages are received.
func (r *Rig) Second(ctx context.Context, p *Probe) error {
	received := make(chan time.Duration, rate)
	sub, err := r.NC.Subscribe(p.Subject, func(m *nats.Msg) {
		if delay, ok := since(p.Text(m)); ok {
			received <- delay
		}
	})
	if err == nil {
		defer func() { _ = sub.Unsubscribe() }()
		err = r.NC.Flush()
	}
	if err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for i := range rate {
		<-tick.C
		if err := p.Publish(i, now()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, receiveTime)
	defer cancel()
	for n := range rate {
		select {
		case d := <-received:
			p.delays = append(p.delays, d)
		case <-ctx.Done():
			return fmt.Errorf("received only %d of %d messages on %s: %w", n, rate, p.Subject, ctx.Err())
		}
	}
	return nil
}
