package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"streamer/internal/bench"
)

// result is the result of a run, in the units of its JSON names. Parts that were not
// requested are zero.
type result struct {
	Rows []row `json:"calls,omitempty"`
	rates
	latencies
	Instances instances `json:"instances"`
	Replay    *replay   `json:"replay,omitempty"`
}

// rates is the result of the measurement of throughput.
type rates struct {
	Few   bench.Throughput `json:"few_sessions"`
	Many  bench.Throughput `json:"many_sessions"`
	Count bench.Throughput `json:"bare_count"`
	Plain bench.Throughput `json:"bare_pipeline"`
	// Ratios are medians over the rounds. The two measurements of a ratio follow
	// each other.
	FewOfPlain  float64 `json:"few_of_bare_pipeline"`
	ManyOfPlain float64 `json:"many_of_bare_pipeline"`
	Growth      float64 `json:"cpu_many_of_few"`
}

// round is the result of one round of throughput.
type round struct {
	few, many    bench.Throughput // the whole path
	count, plain bench.Throughput // bare
}

// summary returns the medians of the rounds of throughput.
func summary(rounds []round) rates {
	return rates{
		Few:         bench.MedianThroughput(rounds, func(r round) bench.Throughput { return r.few }),
		Many:        bench.MedianThroughput(rounds, func(r round) bench.Throughput { return r.many }),
		Count:       bench.MedianThroughput(rounds, func(r round) bench.Throughput { return r.count }),
		Plain:       bench.MedianThroughput(rounds, func(r round) bench.Throughput { return r.plain }),
		FewOfPlain:  bench.Median(rounds, func(r round) float64 { return r.few.Inputs / r.plain.Inputs }),
		ManyOfPlain: bench.Median(rounds, func(r round) float64 { return r.many.Inputs / r.plain.Inputs }),
		Growth:      bench.Median(rounds, func(r round) float64 { return r.many.CPU / r.few.CPU }),
	}
}

const limitNote = `
limit: a consumer of the NATS library reads the same inputs, and a minimal client
appends the same events, with the same subjects, headers, bytes and conditions, one
append in flight per session; no fold, no snapshots, no checkpoints.
`

// print writes the result as tables.
func (r *result) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(r.Rows) > 0 {
		printRows(w, r.Rows)
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprint(out, limitNote)
	}
	if r.Many.Inputs > 0 {
		r.rates.print(w)
	}
	if r.Ours.P99 > 0 {
		r.latencies.print(w)
	}
	if i := &r.Instances; i.Number > 1 {
		fmt.Fprintf(w, "%d instances / one, inputs/s\t%.2f\t%.0f / %.0f\n", i.Number, i.Many/i.One, i.Many, i.One)
		fmt.Fprintf(w, "%d instances / one, CPU per input\t%.2f\t%.1f / %.1f µs, server included\n", i.Number, i.ManyCPU/i.OneCPU, i.ManyCPU, i.OneCPU)
		if cores := runtime.NumCPU(); cores < i.Number+2 {
			fmt.Fprintf(w, "(%d cores: too few for a comparison, because the server and each of %d instances need one)\n", cores, i.Number)
		}
	}
	if p := r.Replay; p != nil {
		fmt.Fprintf(w, "replay to %d streams at once, %d events each\t%.0f MB/s\t%.1f s\n", p.Streams, p.Events, p.MB, p.Seconds)
	}
	fmt.Fprintln(w, "\nCPU is that of the whole process: connections, worker and, without --nats-url, the server.")
	return w.Flush()
}

func (r *rates) print(w io.Writer) {
	rate := func(what string, t bench.Throughput) {
		fmt.Fprintf(w, "%s, %d sessions at once\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", what, t.Sessions, t.Inputs, t.Events, t.CPU)
	}
	rate("whole path", r.Few)
	rate("whole path", r.Many)
	fmt.Fprintf(w, "bare consumer, counts only\t%.0f inputs/s\t\t%.1f µs CPU per input\n", r.Count.Inputs, r.Count.CPU)
	fmt.Fprintf(w, "bare pipeline, a message per ten\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", r.Plain.Inputs, r.Plain.Events, r.Plain.CPU)
	fmt.Fprintf(w, "whole path / bare pipeline, inputs/s\t%.2f (%d at once)\t%.2f (%d at once)\n", r.FewOfPlain, r.Few.Sessions, r.ManyOfPlain, r.Many.Sessions)
	fmt.Fprintf(w, "CPU per input, %d / %d at once\t%.2f\n", r.Many.Sessions, r.Few.Sessions, r.Growth)
}

func (l *latencies) print(w io.Writer) {
	line := func(what string, q bench.Quantiles) {
		fmt.Fprintf(w, "%s\tp50 %.0f µs\tp99 %.0f µs\tp99.9 %.0f µs\n", what, q.P50, q.P99, q.P999)
	}
	line("delta to event, 1,000/s", l.Ours)
	line("bare: stored, read, stored, received, 1,000/s", l.Hops)
	line("bare: stored, received, 1,000/s", l.Trip)
	line("bare: received, not stored, 1,000/s", l.Received)
	fmt.Fprintf(w, "p99, delta to event / bare\t%.2f (stored, received)\t%.2f (stored, read, stored, received)\n", l.OfTrip, l.OfHops)
	fmt.Fprintf(w, "written at 1,000 deltas/s, %d sessions\t%.0f snapshots/s\t%.1f KiB each\t%.1f checkpoints/s\n", l.Steady.Sessions, l.Steady.Snapshots, l.Steady.SnapshotBytes/1024, l.Steady.Checkpoints)
}
