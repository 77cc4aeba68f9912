package main

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/bench"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// latencies is the result of the measurement of latency.
type latencies struct {
	Ours     bench.Quantiles `json:"latency"`
	Hops     bench.Quantiles `json:"bare_two_hops"`
	Trip     bench.Quantiles `json:"bare_stored_round_trip"`
	Received bench.Quantiles `json:"bare_round_trip"`
	OfHops   float64         `json:"p99_of_two_hops"`
	OfTrip   float64         `json:"p99_of_stored_round_trip"`
	Steady   steady          `json:"steady_state"`
}

// steady counts the snapshots and checkpoints that a worker writes while deltas
// arrive at the rate of the measurement and each causes an event.
type steady struct {
	Sessions      int     `json:"sessions"`
	Snapshots     float64 `json:"snapshots_per_s"`
	SnapshotBytes float64 `json:"bytes_per_snapshot"`
	Checkpoints   float64 `json:"checkpoints_per_s"`
}

// latencies measures in turns, a second each, the time from publishing a delta to
// its event at a subscriber, and the probes without streamer. All run at the same
// rate, on the same server, with the same kind of storage.
func (r *rig) latencies(ctx context.Context, m *latencies) error {
	ours, stop, err := r.DeltaProbe(ctx)
	if err != nil {
		return err
	}
	defer stop()
	bare, undo, err := r.bareProbes(ctx)
	if err != nil {
		return err
	}
	defer undo()
	seconds := int(max(1, r.options.Duration/time.Second))
	for range seconds {
		for _, p := range append([]*bench.Probe{ours}, bare...) {
			if err := r.Second(ctx, p); err != nil {
				return err
			}
		}
	}
	m.Ours, m.Hops, m.Trip, m.Received = ours.Quantiles(), bare[0].Quantiles(), bare[1].Quantiles(), bare[2].Quantiles()
	m.OfHops, m.OfTrip = m.Ours.P99/m.Hops.P99, m.Ours.P99/m.Trip.P99
	m.Steady, err = r.steady(ctx, ours, seconds)
	return err
}

// steady measures the snapshots and checkpoints that the worker writes while a probe
// runs.
func (r *rig) steady(ctx context.Context, p *bench.Probe, seconds int) (s steady, err error) {
	var snapshots, checkpoints [2]jetstream.StreamState // before and after
	start := time.Now()
	for i := range snapshots {
		if snapshots[i], err = r.state(ctx, "KV_STREAMER_SNAPSHOT"); err == nil {
			checkpoints[i], err = r.state(ctx, "KV_STREAMER_CHECKPOINT")
		}
		for range seconds * (1 - i) {
			if err == nil {
				err = r.Second(ctx, p)
			}
		}
		if err != nil {
			return s, err
		}
	}
	per := func(s [2]jetstream.StreamState) float64 {
		return float64(s[1].LastSeq-s[0].LastSeq) / time.Since(start).Seconds()
	}
	return steady{
		Sessions: bench.LatencySessions, Snapshots: per(snapshots), Checkpoints: per(checkpoints),
		SnapshotBytes: float64(snapshots[1].Bytes) / float64(max(1, snapshots[1].Msgs)),
	}, nil
}

// state returns the state of a stream.
func (r *rig) state(ctx context.Context, stream string) (s jetstream.StreamState, err error) {
	js, err := r.jetStream()
	if err != nil {
		return s, err
	}
	found, err := js.Stream(ctx, stream)
	if err != nil {
		return s, fmt.Errorf("stream %s: %w", stream, err)
	}
	return found.CachedInfo().State, nil
}

// bareProbes returns the probes without streamer: a message that is stored, read
// by a consumer, stored again and received; one that is stored and received; and
// one that is only received. undo stops them.
func (r *rig) bareProbes(ctx context.Context) (list []*bench.Probe, undo func(), err error) {
	js, remove, err := r.scratch(ctx)
	if err != nil {
		return nil, nil, err
	}
	failed := make(chan error, 1)
	reading, err := r.consume(ctx, js, "BENCH-"+r.Nonce, jetstream.OrderedConsumerConfig{FilterSubjects: []string{r.scratchSubject("in")}}, func(m jetstream.Msg) {
		if _, err := js.PublishAsync(r.scratchSubject("out"), m.Data()); err != nil {
			report(failed, err)
		}
	})
	if err != nil {
		remove()
		return nil, nil, err
	}
	store := func(what string) func(int, string) error {
		return func(_ int, text string) error {
			select {
			case err := <-failed:
				return err
			default:
			}
			_, err := js.PublishAsync(r.scratchSubject(what), []byte(text))
			return err
		}
	}
	text := func(m *nats.Msg) string { return string(m.Data) }
	return []*bench.Probe{
		{Subject: r.scratchSubject("stored"), Text: text, Publish: store("in")},
		{Subject: r.scratchSubject("stored"), Text: text, Publish: store("out")},
		{Subject: r.scratchSubject("received"), Text: text, Publish: func(_ int, text string) error { return r.NC.Publish(r.scratchSubject("received"), []byte(text)) }},
	}, func() { reading.Stop(); remove() }, nil
}
