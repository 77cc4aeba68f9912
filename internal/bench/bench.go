// Package bench measures what a cluster is sized with: the throughput, latency and
// recovery of the whole path from inputs to events, and event streams over HTTP.
// test/bench measures the same path beside the work that no program can avoid.
//
// Each measurement has its own server and sessions, so none reads inputs of
// another. A run stops with an error at the first failure: there are no partial
// results.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
)

// Options configures a run.
type Options struct {
	// Broker names the NATS server. Without a URL each measurement starts a server
	// of its own in a temporary directory.
	Broker broker.Options `kong:"-"`

	Parts    []string      `placeholder:"PART" default:"throughput,latency,open,recovery" enum:"throughput,latency,open,recovery" help:"parts of the measurement: ${enum}"`
	Inputs   int           `placeholder:"NUMBER" default:"600000" help:"number of deltas and results per measurement of throughput"`
	PerCall  int           `name:"call" placeholder:"NUMBER" default:"100" help:"number of inputs per call, including its result"`
	Sessions int           `placeholder:"NUMBER" default:"1000" help:"number of sessions that stream at once"`
	Open     int           `placeholder:"NUMBER" default:"5000" help:"number of sessions with an open call whose memory and recovery are measured"`
	Backlog  int           `placeholder:"NUMBER" default:"7500" help:"number of sessions of a backlog in which a worker is killed; also measured with two and four times as many"`
	Rounds   int           `placeholder:"NUMBER" default:"3" help:"number of measurements of throughput and recovery; the medians are printed"`
	Duration time.Duration `placeholder:"DURATION" default:"5s" help:"time for which the latency is measured, at 1,000 deltas per second"`
}

// Check returns an error that names the flag with an invalid value.
func (o *Options) Check() error {
	err := errors.Join(AtLeast("call", o.PerCall, minPerCall), AtLeast("sessions", o.Sessions, 100),
		AtLeast("rounds", o.Rounds, 1), AtLeast("open", o.Open, 1), AtLeast("backlog", o.Backlog, 100), AtLeast("duration", o.Duration, time.Second))
	if err == nil && o.Inputs < o.PerCall*o.Sessions {
		return fmt.Errorf("invalid --inputs %d: need at least %d per session", o.Inputs, o.PerCall)
	}
	return err
}

// AtLeast returns an error that names a flag if its value is below least.
func AtLeast[T int | time.Duration](flag string, value, least T) error {
	if value < least {
		return fmt.Errorf("invalid --%s %v: need at least %v", flag, value, least)
	}
	return nil
}

// Run does all measurements. It shows its progress on progress if that is a terminal.
func Run(ctx context.Context, progress io.Writer, log zerolog.Logger, o Options) (r Result, err error) {
	var steps []Step
	on := func(part, name string, measure func(context.Context, *Rig) error) {
		if slices.Contains(o.Parts, part) {
			steps = append(steps, Step{name, func(ctx context.Context) error { return OnRig(ctx, log, o.Broker, measure) }})
		}
	}
	on("latency", "latency", func(ctx context.Context, g *Rig) (err error) {
		r.Latency, err = g.latency(ctx, o.Duration)
		return err
	})
	plan := Plan{PerCall: o.PerCall, Inputs: o.Inputs / o.PerCall / o.Sessions * o.PerCall, Sessions: o.Sessions, AtOnce: o.Sessions}
	var rounds []Throughput
	for i := range o.Rounds {
		on("throughput", fmt.Sprintf("throughput, round %d of %d", i+1, o.Rounds), func(ctx context.Context, g *Rig) error {
			m, err := g.Path(ctx, plan)
			rounds = append(rounds, m.Throughput)
			return err
		})
	}
	on("open", "open sessions, and recovery", func(ctx context.Context, g *Rig) (err error) {
		r.Open, err = g.openSessions(ctx, o.Open, o.Rounds)
		return err
	})
	var first, again [3][]Folding // by size of the backlog
	for i := range len(first) * o.Rounds {
		size, n := i%len(first), o.Backlog<<(i%len(first))
		fold := func(list *[]Folding, killed float64) {
			on("recovery", fmt.Sprintf("backlog of %d sessions, killed at %.0f %%", n, 100*killed), func(ctx context.Context, g *Rig) error {
				f, err := g.foldBacklog(ctx, n, int64(killed*float64(n)))
				*list = append(*list, f)
				return err
			})
		}
		fold(&first[size], 0)
		fold(&again[size], killAt[i/len(first)%len(killAt)])
	}
	if o.Broker.URL != "" {
		fmt.Fprintln(progress, "warning: this writes sessions named bench-… to the server of --nats-url and carries all partitions; do not run it beside a working streamer")
	}
	if err = RunSteps(ctx, progress, steps); err == nil && len(rounds) > 0 {
		r.Throughput = MedianThroughput(rounds, func(t Throughput) Throughput { return t })
	}
	for i := range first {
		if err == nil && len(again[i]) > 0 {
			r.Recovery = append(r.Recovery, Recovery{o.Backlog << i, middle(first[i]), middle(again[i])})
		}
	}
	return r, err
}

// OnRig runs a measurement on a rig of its own: without a given server that is a
// new one, since the data of an earlier measurement would slow down the next.
func OnRig(ctx context.Context, log zerolog.Logger, o broker.Options, measure func(context.Context, *Rig) error) error {
	r, err := openRig(ctx, log, o)
	defer r.close()
	if err == nil {
		err = r.SetRules(ctx, lifecycle.Off)
	}
	if err != nil {
		return err
	}
	return measure(ctx, r)
}

// Step is one measurement of a run.
type Step struct {
	Name    string
	Measure func(context.Context) error
}

const maxTime = time.Hour

// RunSteps runs the steps in order, until the first error. If progress is a
// terminal, it shows the step and the remaining time there.
func RunSteps(ctx context.Context, progress io.Writer, steps []Step) error {
	if len(steps) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var done atomic.Int64
	following, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	wg.Go(func() {
		client.NewProgressLine(progress).Follow(following, func() audit.Progress {
			i := done.Load()
			return audit.Progress{What: "measurements", Done: uint64(i), Total: uint64(len(steps)), Note: steps[i].Name}
		})
	})
	for i, s := range steps {
		done.Store(int64(i))
		if err := s.Measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.Name, errors.Join(err, context.Cause(ctx)))
		}
	}
	return nil
}

// Result is the result of a run, in the units of its JSON names. Parts that were not
// requested are zero.
type Result struct {
	Throughput Throughput `json:"throughput"`
	Latency    Quantiles  `json:"latency"`
	Open       OpenCost   `json:"open_sessions"`
	Recovery   []Recovery `json:"recovery,omitempty"` // of N, 2N and 4N sessions
}

// Print writes the result as a table.
func (r *Result) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if t := &r.Throughput; t.Inputs > 0 {
		fmt.Fprintf(w, "whole path, %d sessions at once\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per input\n", t.Sessions, t.Inputs, t.Events, t.CPU)
	}
	if l := r.Latency; l.P99 > 0 {
		fmt.Fprintf(w, "delta to event, 1,000/s\tp50 %.0f µs\tp99 %.0f µs\tp99.9 %.0f µs\n", l.P50, l.P99, l.P999)
	}
	if o := &r.Open; o.Sessions > 0 {
		fmt.Fprintf(w, "open sessions\t%d\t%.1f KiB of worker memory each\t%s MiB resident in the whole process\n", o.Sessions, o.Bytes/1024, Mebibytes(o.RSS))
		fmt.Fprintf(w, "opened without a snapshot\t%.0f sessions/s\t%.0f µs CPU per session\n", o.Rate, o.OpenCPU*1000/float64(o.Sessions))
		fmt.Fprintf(w, "restart until all timers are set\t%.0f ms (first: %.0f)\t%.0f µs CPU per open session\t%d inputs read again\n", o.Recovery, o.First, o.CPU*1000/float64(o.Sessions), o.Reread)
	}
	for _, m := range r.Recovery {
		least := &r.Recovery[0]
		size := float64(m.Sessions) / float64(least.Sessions)
		fmt.Fprintf(w, "killed in a backlog of %d sessions\t%.2f s (first time: %.2f)\t%.2f s CPU (%.2f)\tper session %.2f, CPU %.2f of %d sessions\t%.2f API requests each\n", m.Sessions, m.Again.Seconds, m.First.Seconds,
			m.Again.CPU, m.First.CPU, m.Again.Seconds/least.Again.Seconds/size, m.Again.CPU/least.Again.CPU/size, least.Sessions, m.Again.Requests)
	}
	fmt.Fprintln(w, "\nCPU is that of the whole process: connections, worker and, without --nats-url, the server.")
	return w.Flush()
}

// Mebibytes returns a number of bytes as text, "-" for 0.
func Mebibytes(n float64) string {
	text := fmt.Sprintf("%.0f", n/(1<<20))
	if n == 0 {
		text = "-"
	}
	return text
}
