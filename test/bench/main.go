// Command bench measures the whole path from inputs to events beside the same work
// on NATS alone, in the same run. On a machine with other load only the ratios of
// the two are meaningful. It is run in this directory, or with `go run -C test/bench .`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"streamer/internal/bench"
	"streamer/internal/client"
	"streamer/internal/server"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
)

// options configures a run.
type options struct {
	client.RemoteFlags
	Parts     []string      `placeholder:"PART" default:"calls" enum:"calls,throughput,latency,instances,replay" help:"parts of the measurement: ${enum}"`
	Rows      []string      `placeholder:"ROW" help:"rows of the part calls, by the beginning of their names, such as paced-20, backlog or once; if none, all"`
	RowInputs int           `placeholder:"NUMBER" default:"120000" help:"number of inputs per measurement of calls, at least one call per session"`
	Returning int           `placeholder:"NUMBER" default:"5000" help:"number of sessions that return after they left memory; at least 16"`
	LogSize   int           `name:"log-size" placeholder:"MIB" default:"64" help:"size of the event log to which sessions return, in MiB"`
	Inputs    int           `placeholder:"NUMBER" default:"600000" help:"number of deltas and results per measurement of throughput"`
	PerCall   int           `name:"call" placeholder:"NUMBER" default:"100" help:"number of inputs per call, including its result"`
	Sessions  int           `placeholder:"NUMBER" default:"1000" help:"number of sessions that stream at once; at least 100"`
	Rounds    int           `placeholder:"NUMBER" default:"3" help:"number of measurements of each kind, in turns; the medians are printed"`
	Instances int           `placeholder:"NUMBER" default:"2" help:"number of processes of streamer serve to compare with one process"`
	Replays   int           `placeholder:"NUMBER" default:"1000" help:"number of streams that read a history of 2 MB at once"`
	Duration  time.Duration `placeholder:"DURATION" default:"5s" help:"time for which each latency is measured, at 1,000 deltas per second"`
	JSON      bool          `name:"json" help:"print one JSON object instead of a table"`

	program string // built for the parts that run processes
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server.BoundMemory(os.DirFS("/"))
	go server.PaceGC(ctx) // as the program does
	var o options
	kong.Parse(&o, kong.Description("Measures the whole path beside the same work on NATS alone."))
	r, err := o.run(ctx, os.Stderr)
	switch {
	case err != nil:
	case o.JSON:
		err = json.NewEncoder(os.Stdout).Encode(&r)
	default:
		err = r.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// fewSessions is the number of sessions with which more of them are compared.
const fewSessions = 100

// rig is a rig with the options of the run.
type rig struct {
	*bench.Rig
	options *options
}

// run does all measurements.
func (o *options) run(ctx context.Context, progress io.Writer) (r result, err error) {
	if o.Sessions < fewSessions || o.Returning < portions || min(o.Rounds, o.RowInputs, o.LogSize, o.Replays) < 1 || o.PerCall < 3 || o.Inputs < o.PerCall*o.Sessions || o.Instances < 2 {
		return r, fmt.Errorf("need --sessions %d, --returning %d, --call 3, --instances 2, and an input per call and session at least", fewSessions, portions)
	}
	if slices.Contains(o.Parts, "instances") || slices.Contains(o.Parts, "replay") {
		dir, err := os.MkdirTemp("", "streamer-bench-")
		if err != nil {
			return r, err
		}
		defer os.RemoveAll(dir)
		o.program = filepath.Join(dir, "streamer")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.program, "./cmd/streamer")
		build.Dir = filepath.Join("..", "..")
		if out, err := build.CombinedOutput(); err != nil {
			return r, fmt.Errorf("building the program: %w: %s", err, out)
		}
	}
	var steps []bench.Step
	on := func(name string, measure func(context.Context, *rig) error) {
		steps = append(steps, bench.Step{Name: name, Measure: func(ctx context.Context) error { return o.onRig(ctx, measure) }})
	}
	uses, rounds := o.uses(), make([]round, o.Rounds)
	rows := make([][]row, len(uses))
	for _, part := range o.Parts {
		switch part {
		case "calls":
			o.calls(on, uses, rows)
		case "throughput":
			o.throughput(on, rounds)
		case "latency":
			on(part, func(ctx context.Context, g *rig) error { return g.latencies(ctx, &r.latencies) })
		case "instances":
			on(part, func(ctx context.Context, g *rig) (err error) { r.Instances, err = g.instances(ctx); return err })
		case "replay":
			steps = append(steps, bench.Step{Name: part, Measure: func(ctx context.Context) (err error) { r.Replay, err = o.replay(ctx); return err }})
		}
	}
	if err := bench.RunSteps(ctx, progress, steps); err != nil {
		return r, err
	}
	for _, all := range rows {
		if len(all) > 0 {
			r.Rows = append(r.Rows, medianRow(all))
		}
	}
	if rounds[0].many.Inputs > 0 {
		r.rates = summary(rounds)
	}
	return r, nil
}

func (o *options) onRig(ctx context.Context, measure func(context.Context, *rig) error) error {
	log := zerolog.New(os.Stderr).Level(zerolog.WarnLevel)
	return bench.OnRig(ctx, log, o.RemoteFlags.Options(), func(ctx context.Context, r *bench.Rig) error {
		return measure(ctx, &rig{r, o})
	})
}

// calls measures the kinds of use in turns.
func (o *options) calls(on func(string, func(context.Context, *rig) error), uses []usage, rows [][]row) {
	for i := range o.Rounds {
		for k, u := range uses {
			on(fmt.Sprintf("%s, round %d of %d", u, i+1, o.Rounds), func(ctx context.Context, r *rig) error {
				row, err := r.row(ctx, u)
				rows[k] = append(rows[k], row)
				return err
			})
		}
	}
}

// throughput measures throughput with few and with many sessions in turns.
func (o *options) throughput(on func(string, func(context.Context, *rig) error), rounds []round) {
	for i := range rounds {
		t := &rounds[i]
		order := []func(context.Context, *rig) error{
			func(ctx context.Context, r *rig) error {
				m, err := r.Path(ctx, o.plan(fewSessions))
				t.few = m.Throughput
				return err
			},
			func(ctx context.Context, r *rig) (err error) {
				m, err := r.Path(ctx, o.plan(o.Sessions))
				if t.many = m.Throughput; err == nil {
					t.count, err = r.bare(ctx, m.Span, 0)
				}
				if err == nil {
					t.plain, err = r.bare(ctx, m.Span, 10)
				}
				return err
			},
		}
		if i%2 == 1 { // the second measurement runs in a process with a larger heap
			slices.Reverse(order)
		}
		for _, measure := range order {
			on(fmt.Sprintf("throughput, round %d of %d", i+1, o.Rounds), measure)
		}
	}
}

// plan returns about Inputs inputs of all sessions. Inputs, sessions, calls and
// events are the same for every atOnce.
func (o *options) plan(atOnce int) bench.Plan {
	return bench.Plan{PerCall: o.PerCall, Inputs: o.Inputs / o.PerCall / o.Sessions * o.PerCall, Sessions: o.Sessions, AtOnce: atOnce}
}
