package bench

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// Result is the result of a run, in the units of its JSON names. Parts that were not
// requested are zero.
type Result struct {
	Rows []Row `json:"calls,omitempty"`
	Rates
	Latencies
	Open      OpenCost  `json:"open_sessions"`
	Instances Instances `json:"instances"`
}

// Rates is the result of the measurement of throughput.
type Rates struct {
	Few   Throughput `json:"few_sessions"`
	Many  Throughput `json:"many_sessions"`
	Count Throughput `json:"bare_count"`
	Plain Throughput `json:"bare_pipeline"`
	// Ratios are medians over the rounds. The two measurements of a ratio follow
	// each other.
	FewOfPlain  float64 `json:"few_of_bare_pipeline"`
	ManyOfPlain float64 `json:"many_of_bare_pipeline"`
	Growth      float64 `json:"cpu_many_of_few"`
}

// Latencies is the result of the measurement of latency.
type Latencies struct {
	Ours     Quantiles `json:"latency"`
	Hops     Quantiles `json:"bare_two_hops"`
	Trip     Quantiles `json:"bare_stored_round_trip"`
	Received Quantiles `json:"bare_round_trip"`
	Late     float64   `json:"p99_of_two_hops"`
	LateOne  float64   `json:"p99_of_stored_round_trip"`
	Steady   Steady    `json:"steady_state"`
}

// round is the result of one round of throughput.
type round struct {
	few, many    Throughput // the whole path
	count, plain Throughput // bare
}

// summary returns the medians of the rounds of throughput.
func summary(rounds []round) (r Rates) {
	of := func(pick func(round) Throughput) Throughput {
		over := func(value func(Throughput) float64) float64 {
			return median(rounds, func(r round) float64 { return value(pick(r)) })
		}
		return Throughput{
			Sessions: pick(rounds[0]).Sessions,
			Inputs:   over(func(t Throughput) float64 { return t.Inputs }),
			Events:   over(func(t Throughput) float64 { return t.Events }),
			CPU:      over(func(t Throughput) float64 { return t.CPU }),
		}
	}
	r.Few = of(func(r round) Throughput { return r.few })
	r.Many = of(func(r round) Throughput { return r.many })
	r.Count = of(func(r round) Throughput { return r.count })
	r.Plain = of(func(r round) Throughput { return r.plain })
	r.FewOfPlain = median(rounds, func(r round) float64 { return r.few.Inputs / r.plain.Inputs })
	r.ManyOfPlain = median(rounds, func(r round) float64 { return r.many.Inputs / r.plain.Inputs })
	r.Growth = median(rounds, func(r round) float64 { return r.many.CPU / r.few.CPU })
	return r
}

func median[T any](all []T, of func(T) float64) float64 {
	list := make([]float64, 0, len(all))
	for _, v := range all {
		list = append(list, of(v))
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// Print writes the result as tables.
func (r *Result) Print(out io.Writer) error {
	if len(r.Rows) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		printRows(w, r.Rows)
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprint(out, limitNote)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if r.Many.Inputs > 0 {
		r.Rates.print(w)
	}
	if r.Ours.P99 > 0 {
		r.Latencies.print(w)
	}
	if r.Open.Sessions > 0 {
		r.Open.print(w)
	}
	if r.Instances.Number > 1 {
		r.Instances.print(w)
	}
	fmt.Fprintln(w, "\nCPU is that of the whole process: connections, worker and, without --nats-url, the server.")
	return w.Flush()
}

const limitNote = `
limit: a consumer of the NATS library reads the same inputs, and a minimal client
appends the same events, with the same subjects, headers, bytes and conditions, one
append in flight per session; no fold, no snapshots, no checkpoints.
`

func (r *Rates) print(w io.Writer) {
	rate := func(what string, t Throughput) {
		fmt.Fprintf(w, "%s, %d sessions at once\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", what, t.Sessions, t.Inputs, t.Events, t.CPU)
	}
	rate("whole path", r.Few)
	rate("whole path", r.Many)
	fmt.Fprintf(w, "bare consumer, counts only\t%.0f inputs/s\t\t%.1f µs CPU per input\n", r.Count.Inputs, r.Count.CPU)
	fmt.Fprintf(w, "bare pipeline, a message per ten\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", r.Plain.Inputs, r.Plain.Events, r.Plain.CPU)
	fmt.Fprintf(w, "whole path / bare pipeline, inputs/s\t%.2f (%d at once)\t%.2f (%d at once)\n", r.FewOfPlain, r.Few.Sessions, r.ManyOfPlain, r.Many.Sessions)
	fmt.Fprintf(w, "CPU per input, %d / %d at once\t%.2f\n", r.Many.Sessions, r.Few.Sessions, r.Growth)
}

func (r *Latencies) print(w io.Writer) {
	late := func(what string, d Quantiles) {
		fmt.Fprintf(w, "%s\tp50 %.0f µs\tp99 %.0f µs\tp99.9 %.0f µs\n", what, d.P50, d.P99, d.P999)
	}
	late("delta to event, 1,000/s", r.Ours)
	late("bare: stored, read, stored, received, 1,000/s", r.Hops)
	late("bare: stored, received, 1,000/s", r.Trip)
	late("bare: received, not stored, 1,000/s", r.Received)
	fmt.Fprintf(w, "p99, delta to event / bare\t%.2f (stored, received)\t%.2f (stored, read, stored, received)\n", r.LateOne, r.Late)
	fmt.Fprintf(w, "written at 1,000 deltas/s, %d sessions\t%.0f snapshots/s\t%.1f KiB each\t%.1f checkpoints/s\n", r.Steady.Sessions, r.Steady.Snapshots, r.Steady.SnapshotBytes/1024, r.Steady.Checkpoints)
}

func (o *OpenCost) print(w io.Writer) {
	fmt.Fprintf(w, "open sessions\t%d\t%.1f KiB of worker memory each\t%s MiB resident in the whole process\n", o.Sessions, o.Bytes/1024, cmp.Or(mebibytes(o.RSS), "-"))
	fmt.Fprintf(w, "opened without a snapshot\t%.0f sessions/s\t%.0f µs CPU per session\n", o.Rate, o.OpenCPU*1000/float64(o.Sessions))
	fmt.Fprintf(w, "restart until all timers are set\t%.0f ms (first: %.0f)\t%.0f µs CPU per open session\t%d snapshots listed, %d inputs read again\n", o.Recovery, o.First, o.CPU*1000/float64(o.Sessions), o.Listed, o.Reread)
}

func (i *Instances) print(w io.Writer) {
	fmt.Fprintf(w, "%d instances / one, inputs/s\t%.2f\t%.0f / %.0f\n", i.Number, i.Many/i.One, i.Many, i.One)
	fmt.Fprintf(w, "%d instances / one, CPU per input\t%.2f\t%.1f / %.1f µs, server included\n", i.Number, i.ManyCPU/i.OneCPU, i.ManyCPU, i.OneCPU)
	if cores := runtime.NumCPU(); cores < i.Number+2 {
		fmt.Fprintf(w, "(%d cores: too few for a comparison, because the server and each of %d instances need one)\n", cores, i.Number)
	}
}
