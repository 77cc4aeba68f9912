package bench

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"streamer/internal/lifecycle"
	"streamer/internal/worker"
)

// Row is one kind of use: the whole path beside the limit, the same inputs and
// events without streamer. The values are medians over the rounds.
type Row struct {
	Name     string           `json:"name"`
	Stored   string           `json:"stored"` // how the inputs were stored
	PerCall  int              `json:"inputs_per_call"`
	Deltas   lifecycle.Deltas `json:"deltas"`
	Calls    float64          `json:"calls"`
	PerInput float64          `json:"events_per_input"`
	Path     Throughput       `json:"path"`
	Limit    Throughput       `json:"limit"`
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
func (o *Options) uses() (list []usage) {
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

// planOf returns the inputs of a use: Options.RowInputs, but one call per session
// at least.
func (o *Options) planOf(u usage) plan {
	p := plan{perCall: u.perCall, sessions: o.Sessions, atOnce: o.Sessions}
	p.calls = max(1, o.RowInputs/p.perCall/p.sessions)
	switch u.name {
	case usages[0].name:
		p.pace = pace
	case onceUsage.name:
		p.sessions, p.calls = p.sessions*p.calls, 1
	case returningUsage.name, forgottenUsage.name:
		p.sessions, p.calls = o.Returning, 1
	}
	return p
}

// row measures a use once.
func (r *rig) row(ctx context.Context, u usage) (row Row, err error) {
	if err := r.setRules(ctx, u.deltas); err != nil {
		return row, err
	}
	p := r.options.planOf(u)
	row = Row{Name: u.String(), Stored: u.stored, PerCall: p.perCall, Deltas: u.deltas, Calls: float64(p.calls * p.sessions)}
	switch u {
	case returningUsage:
		err = r.returning(ctx, p, worker.Options{}, &row)
	case forgottenUsage:
		err = r.returning(ctx, p, worker.Options{MaxMemory: 1}, &row)
	default:
		err = r.once(ctx, p, &row)
	}
	row.PerInput = row.Limit.Events / row.Limit.Inputs
	row.Ratio, row.CPURatio = row.Path.Inputs/row.Limit.Inputs, row.Path.CPU/row.Limit.CPU
	row.Clock = float64(row.Path.Clock) / row.Calls
	return row, err
}

// once measures the path and then its limit.
func (r *rig) once(ctx context.Context, p plan, row *Row) error {
	m, err := r.path(ctx, p)
	if err != nil {
		return err
	}
	row.Path, row.RSS = m.Throughput, rss()
	row.Limit, err = r.limit(ctx, &m)
	return err
}

// rss returns the resident memory of this process, 0 if it is not known.
func rss() float64 {
	n, _, err := use(os.Getpid())
	if err != nil {
		return 0
	}
	return float64(n)
}

// medianRow returns the medians of the measurements of one use.
func medianRow(all []Row) Row {
	of := func(value func(Row) float64) float64 { return median(all, value) }
	rate := func(pick func(Row) Throughput) Throughput {
		return Throughput{
			Inputs: of(func(r Row) float64 { return pick(r).Inputs }),
			Events: of(func(r Row) float64 { return pick(r).Events }),
			CPU:    of(func(r Row) float64 { return pick(r).CPU }),
		}
	}
	m := all[0]
	m.Path = rate(func(r Row) Throughput { return r.Path })
	m.Limit = rate(func(r Row) Throughput { return r.Limit })
	m.PerInput = of(func(r Row) float64 { return r.PerInput })
	m.Ratio = of(func(r Row) float64 { return r.Ratio })
	m.CPURatio = of(func(r Row) float64 { return r.CPURatio })
	m.Clock = of(func(r Row) float64 { return r.Clock })
	m.RSS = of(func(r Row) float64 { return r.RSS })
	return m
}

// printRows writes the rows as lines of a table.
func printRows(w io.Writer, rows []Row) {
	fmt.Fprintln(w, "row\tstored\tdeltas\tevents/input\tpath, inputs/s\tlimit, inputs/s\tpath / limit\tCPU, path / limit\tclock inputs/call\tprocess, MiB")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%s\n", r.Name, r.Stored, r.Deltas, r.PerInput,
			r.Path.Inputs, r.Limit.Inputs, r.Ratio, r.CPURatio, r.Clock, cmp.Or(mebibytes(r.RSS), "-"))
	}
}

// mebibytes returns a number of bytes as text, "" for 0.
func mebibytes(n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", n/(1<<20))
}
