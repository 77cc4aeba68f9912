package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"streamer/internal/bench"
	"streamer/internal/lifecycle"
	"streamer/internal/worker"
)

// row is one kind of use: the whole path beside the limit, the same inputs and
// events without streamer. The values are medians over the rounds.
type row struct {
	Name     string           `json:"name"`
	Stored   string           `json:"stored"` // how the inputs were stored
	PerCall  int              `json:"inputs_per_call"`
	Deltas   lifecycle.Deltas `json:"deltas"`
	Calls    float64          `json:"calls"`
	PerInput float64          `json:"events_per_input"`
	Path     bench.Throughput `json:"path"`
	Limit    bench.Throughput `json:"limit"`
	Ratio    float64          `json:"of_limit"`
	CPURatio float64          `json:"cpu_of_limit"`
	// Clock is the number of clock inputs per call that the worker appended.
	Clock float64 `json:"clock_inputs_per_call"`
	// RSS is the resident memory of the whole process, the server included, at the
	// end of the measurement of the path. It is 0 where the system does not report
	// it.
	RSS float64 `json:"process_bytes"`
}

// pace is the time between two deltas of a model that streams 40 per second.
const pace = 25 * time.Millisecond

// usage is a kind of use: how inputs are stored, and the settings.
type usage struct {
	name    string
	stored  string
	perCall int
	deltas  lifecycle.Deltas
}

// usages are the kinds of use that are measured with calls of all sizes: the
// default settings, and those without events about streaming args.
var usages = [...]usage{
	{"paced", "every 25 ms", 0, lifecycle.Coalesced},
	{"backlog", "at once", 0, lifecycle.Coalesced},
	{"off", "at once", 0, lifecycle.Off},
}

// The kinds of use of sessions that have a call, and of sessions that have another
// when they are compressed in memory, or not in memory at all.
var (
	onceUsage      = usage{"once", "at once, a call per session", 20, lifecycle.Coalesced}
	returningUsage = usage{"returning", "at once, sessions return", 20, lifecycle.Coalesced}
	forgottenUsage = usage{"forgotten", "at once, sessions return, no longer in memory", 20, lifecycle.Coalesced}
)

// callSizes are the numbers of inputs of the calls that are measured.
var callSizes = [...]int{20, 50, 100, 300}

// String returns the name by which --rows selects u.
func (u usage) String() string { return fmt.Sprintf("%s-%d", u.name, u.perCall) }

// uses returns the kinds of use that the options select.
func (o *options) uses() (list []usage) {
	var all []usage
	for _, u := range usages {
		for _, u.perCall = range callSizes {
			all = append(all, u)
		}
	}
	for _, u := range append(all, onceUsage, returningUsage, forgottenUsage) {
		selects := func(prefix string) bool { return strings.HasPrefix(u.String(), prefix) }
		if len(o.Rows) == 0 || slices.ContainsFunc(o.Rows, selects) {
			list = append(list, u)
		}
	}
	return list
}

// planOf returns the inputs of a use: --row-inputs, but one call per session at
// least.
func (o *options) planOf(u usage) bench.Plan {
	calls := max(1, o.RowInputs/u.perCall/o.Sessions)
	p := bench.Plan{PerCall: u.perCall, Inputs: calls * u.perCall, Sessions: o.Sessions, AtOnce: o.Sessions}
	switch u.name {
	case usages[0].name:
		p.Pace = pace
	case onceUsage.name:
		p.Sessions, p.Inputs = calls*o.Sessions, u.perCall
	case returningUsage.name, forgottenUsage.name:
		p.Sessions, p.Inputs = o.Returning, u.perCall
	}
	return p
}

// row measures a use once.
func (r *rig) row(ctx context.Context, u usage) (to row, err error) {
	if err := r.SetRules(ctx, u.deltas); err != nil {
		return to, err
	}
	p := r.options.planOf(u)
	to = row{Name: u.String(), Stored: u.stored, PerCall: p.PerCall, Deltas: u.deltas, Calls: float64(p.Inputs / p.PerCall * p.Sessions)}
	switch u {
	case returningUsage:
		err = r.returning(ctx, p, worker.Options{}, &to)
	case forgottenUsage:
		err = r.returning(ctx, p, worker.Options{MaxMemory: 1}, &to)
	default:
		err = r.once(ctx, p, &to)
	}
	to.PerInput = to.Limit.Events / to.Limit.Inputs
	to.Ratio, to.CPURatio = to.Path.Inputs/to.Limit.Inputs, to.Path.CPU/to.Limit.CPU
	to.Clock = float64(to.Path.Clock) / to.Calls
	return to, err
}

// once measures the path and then its limit.
func (r *rig) once(ctx context.Context, p bench.Plan, to *row) error {
	m, err := r.Path(ctx, p)
	if err != nil {
		return err
	}
	to.Path, to.RSS = m.Throughput, bench.RSS()
	to.Limit, err = r.limit(ctx, &m)
	return err
}

// medianRow returns the medians of the measurements of one use.
func medianRow(all []row) row {
	of := func(value func(row) float64) float64 { return bench.Median(all, value) }
	m := all[0]
	m.Path = bench.MedianThroughput(all, func(r row) bench.Throughput { return r.Path })
	m.Limit = bench.MedianThroughput(all, func(r row) bench.Throughput { return r.Limit })
	m.PerInput = of(func(r row) float64 { return r.PerInput })
	m.Ratio = of(func(r row) float64 { return r.Ratio })
	m.CPURatio = of(func(r row) float64 { return r.CPURatio })
	m.Clock = of(func(r row) float64 { return r.Clock })
	m.RSS = of(func(r row) float64 { return r.RSS })
	return m
}

// printRows writes the rows as lines of a table.
func printRows(w io.Writer, rows []row) {
	fmt.Fprintln(w, "row\tstored\tdeltas\tevents/input\tpath, inputs/s\tlimit, inputs/s\tpath / limit\tCPU, path / limit\tclock inputs/call\tprocess, MiB")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%s\n", r.Name, r.Stored, r.Deltas, r.PerInput,
			r.Path.Inputs, r.Limit.Inputs, r.Ratio, r.CPURatio, r.Clock, bench.Mebibytes(r.RSS))
	}
}
