package bench

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"streamer/internal/events"
	"streamer/internal/worker"
)

// Throughput is the rate at which stored inputs are folded, and its cost.
type Throughput struct {
	Sessions int     `json:"sessions_at_once,omitempty"`
	Inputs   float64 `json:"inputs_per_s"`
	Events   float64 `json:"events_per_s"`
	CPU      float64 `json:"cpu_us_per_input"`
	Clock    uint64  `json:"clock_inputs,omitempty"`
}

// PathRun is the measurement of a worker, and what is needed to store the same
// events without streamer.
type PathRun struct {
	Throughput
	Prefix string    // of the names of its sessions
	Span   [2]uint64 // the first and the last sequence of its inputs
	After  uint64    // its events follow this sequence of the event log
	Calls  int
}

// Path stores the inputs of p while no worker runs, and measures a worker from its
// first input, when it has loaded its snapshots, until a subscriber has received
// the last result.
func (r *Rig) Path(ctx context.Context, p Plan) (m PathRun, err error) {
	m = PathRun{Prefix: r.Prefix(), Calls: p.Inputs / p.PerCall * p.Sessions}
	m.Sessions = p.AtOnce
	seqs, err := r.Fill(ctx, m.Prefix, p)
	if err != nil {
		return m, err
	}
	if _, m.After, err = r.Broker.EventBounds(ctx); err != nil {
		return m, err
	}
	results, unsubscribe, err := r.Count(m.Prefix, events.ToolCallResult)
	if err != nil {
		return m, err
	}
	defer unsubscribe()
	runtime.GC()
	w := r.Work(ctx, worker.Options{})
	defer w.Stop()
	if err := w.Until(ctx, func() bool { return w.Stats().Folded > 0 }); err != nil {
		return m, err
	}
	err = w.Measure(ctx, &m, results, func() ([]uint64, error) { return seqs, nil })
	return m, err
}

// Measure measures a worker from now until as many results as calls of m are
// counted. The CPU includes that of writing all snapshots of the inputs. They are
// stored by fill, which returns their sequences.
func (w Worker) Measure(ctx context.Context, m *PathRun, results *atomic.Int64, fill func() ([]uint64, error)) error {
	before, cpu, start := w.Stats(), CPUTime(), time.Now()
	seqs, err := fill()
	if err != nil {
		return err
	}
	m.Span = [2]uint64{seqs[0], seqs[len(seqs)-1]}
	if err := w.Until(ctx, func() bool { return results.Load() >= int64(m.Calls) }); err != nil {
		return err
	}
	took, after := time.Since(start).Seconds(), w.Stats()
	if err := w.Until(ctx, func() bool {
		return !slices.ContainsFunc(w.Stats().Carried, func(c worker.Carried) bool { return c.Checkpoint <= m.Span[1] })
	}); err != nil {
		return err
	}
	n := float64(len(seqs))
	m.Inputs, m.Events = n/took, float64(after.Appended-before.Appended)/took
	m.CPU, m.Clock = float64((CPUTime()-cpu).Microseconds())/n, after.Asked-before.Asked
	return nil
}

// MedianThroughput returns the medians of what of returns for each element.
func MedianThroughput[T any](all []T, of func(T) Throughput) Throughput {
	over := func(value func(Throughput) float64) float64 {
		return Median(all, func(v T) float64 { return value(of(v)) })
	}
	return Throughput{
		Sessions: of(all[0]).Sessions,
		Inputs:   over(func(t Throughput) float64 { return t.Inputs }),
		Events:   over(func(t Throughput) float64 { return t.Events }),
		CPU:      over(func(t Throughput) float64 { return t.CPU }),
	}
}

// Median returns the median of what of returns for each element.
func Median[T any](all []T, of func(T) float64) float64 {
	list := make([]float64, 0, len(all))
	for _, v := range all {
		list = append(list, of(v))
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
