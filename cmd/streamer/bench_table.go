package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
)

// measured is what bench found, in the units of its JSON names.
type measured struct {
	Few   throughput `json:"few_sessions"`
	Many  throughput `json:"many_sessions"`
	Count throughput `json:"bare_count"`
	Plain throughput `json:"bare_pipeline"`
	// Ratios, medians of the rounds': each is of two measurements in a row.
	FewOfPlain  float64 `json:"few_of_bare_pipeline"`
	ManyOfPlain float64 `json:"many_of_bare_pipeline"`
	Growth      float64 `json:"cpu_many_of_few"`

	delayed

	Open      openCost  `json:"open_sessions"`
	Instances instances `json:"instances"`
}

// delayed is what latency found.
type delayed struct {
	Ours    delays  `json:"latency"`
	Hops    delays  `json:"bare_two_hops"`
	Trip    delays  `json:"bare_stored_round_trip"`
	Heard   delays  `json:"bare_round_trip"`
	Late    float64 `json:"p99_of_two_hops"`
	LateOne float64 `json:"p99_of_stored_round_trip"`
	Steady  steady  `json:"steady_state"`
}

// round is what one round of throughput found.
type round struct {
	few, many    throughput // the whole path
	count, plain throughput // bare
}

// summary takes the medians of the rounds of throughput.
func summary(rounds []round) (m measured) {
	of := func(pick func(round) throughput) throughput {
		over := func(value func(throughput) float64) float64 {
			return median(rounds, func(r round) float64 { return value(pick(r)) })
		}
		return throughput{
			Sessions: pick(rounds[0]).Sessions,
			Inputs:   over(func(t throughput) float64 { return t.Inputs }),
			Events:   over(func(t throughput) float64 { return t.Events }),
			CPU:      over(func(t throughput) float64 { return t.CPU }),
		}
	}
	m.Few = of(func(r round) throughput { return r.few })
	m.Many = of(func(r round) throughput { return r.many })
	m.Count = of(func(r round) throughput { return r.count })
	m.Plain = of(func(r round) throughput { return r.plain })
	m.FewOfPlain = median(rounds, func(r round) float64 { return r.few.Inputs / r.plain.Inputs })
	m.ManyOfPlain = median(rounds, func(r round) float64 { return r.many.Inputs / r.plain.Inputs })
	m.Growth = median(rounds, func(r round) float64 { return r.many.CPU / r.few.CPU })
	return m
}

func median[T any](all []T, of func(T) float64) float64 {
	list := make([]float64, 0, len(all))
	for _, v := range all {
		list = append(list, of(v))
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// print writes the table.
func (m *measured) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rate := func(what string, t throughput) {
		fmt.Fprintf(w, "%s, %d sessions at once\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", what, t.Sessions, t.Inputs, t.Events, t.CPU)
	}
	late := func(what string, d delays) {
		fmt.Fprintf(w, "%s\tp50 %.0f µs\tp99 %.0f µs\tp99.9 %.0f µs\n", what, d.P50, d.P99, d.P999)
	}
	rate("whole path", m.Few)
	rate("whole path", m.Many)
	fmt.Fprintf(w, "bare consumer, counts only\t%.0f inputs/s\t\t%.1f µs CPU per input\n", m.Count.Inputs, m.Count.CPU)
	fmt.Fprintf(w, "bare pipeline, a message per ten\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", m.Plain.Inputs, m.Plain.Events, m.Plain.CPU)
	fmt.Fprintf(w, "whole path / bare pipeline, inputs/s\t%.2f (%d at once)\t%.2f (%d at once)\n", m.FewOfPlain, m.Few.Sessions, m.ManyOfPlain, m.Many.Sessions)
	fmt.Fprintf(w, "CPU per input, %d / %d at once\t%.2f\n", m.Many.Sessions, m.Few.Sessions, m.Growth)
	late("delta to event, 1,000/s", m.Ours)
	late("bare: stored, read, stored, heard, 1,000/s", m.Hops)
	late("bare: stored, heard, 1,000/s", m.Trip)
	late("bare: heard, not stored, 1,000/s", m.Heard)
	fmt.Fprintf(w, "p99, delta to event / bare\t%.2f (stored, heard)\t%.2f (stored, read, stored, heard)\n", m.LateOne, m.Late)
	fmt.Fprintf(w, "written at 1,000 deltas/s, %d sessions\t%.0f states/s\t%.1f KiB each\t%.1f marks/s\n", m.Steady.Sessions, m.Steady.States, m.Steady.StateBytes/1024, m.Steady.Marks)
	o := &m.Open
	fmt.Fprintf(w, "open sessions\t%d\t%.1f KiB of worker memory each\n", o.Sessions, o.Bytes/1024)
	fmt.Fprintf(w, "opened cold\t%.0f sessions/s\n", o.Rate)
	fmt.Fprintf(w, "restart until all alarms are set\t%.0f ms (first: %.0f)\t%.0f µs CPU per open session\t%d states listed, %d inputs read again\n", o.Recovery, o.First, o.CPU*1000/float64(o.Sessions), o.Listed, o.Reread)
	if i := m.Instances; i.Number > 1 {
		fmt.Fprintf(w, "%d instances / one, inputs/s\t%.2f\t%.0f / %.0f\n", i.Number, i.Many/i.One, i.Many, i.One)
		fmt.Fprintf(w, "%d instances / one, CPU per input\t%.2f\t%.1f / %.1f µs, server included\n", i.Number, i.ManyCPU/i.OneCPU, i.ManyCPU, i.OneCPU)
		if cores := runtime.NumCPU(); cores < i.Number+2 {
			fmt.Fprintf(w, "(%d cores: too few to tell, as the server and %d instances want one each)\n", cores, i.Number)
		}
	}
	fmt.Fprintln(w, "\nCPU is the whole process's: its own server where it runs one, connections and worker.")
	return w.Flush()
}
