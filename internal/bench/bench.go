// Package bench measures the whole path from inputs to events on a NATS server,
// and the same work on NATS alone in the same run. On a machine with other load
// only the ratios of the two are meaningful.
//
// Each measurement has its own sessions, so none reads inputs of another. A run
// stops with an error at the first failure: there are no partial results.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"time"

	"streamer/internal/broker"
	streams "streamer/internal/client"
	"streamer/internal/lifecycle"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// Options configures a run.
type Options struct {
	// Broker names the NATS server. Without a URL each measurement starts a server
	// of its own in a temporary directory.
	Broker broker.Options `kong:"-"`
	// Program is the streamer program that the measurement of instances runs.
	Program string `kong:"-"`

	Parts     []string      `placeholder:"PART" default:"calls,throughput,latency,open" enum:"calls,throughput,latency,open" help:"parts of the measurement: ${enum}"`
	Rows      []string      `placeholder:"ROW" help:"rows of the part calls, by the beginning of their names, such as paced-20, backlog or once; if none, all"`
	RowInputs int           `placeholder:"NUMBER" default:"120000" help:"number of inputs per measurement of calls, at least one call per session"`
	Returning int           `placeholder:"NUMBER" default:"5000" help:"number of sessions that return after they left memory"`
	LogSize   int           `name:"log-size" placeholder:"MIB" default:"64" help:"size of the event log to which sessions return, in MiB"`
	Inputs    int           `placeholder:"NUMBER" default:"600000" help:"number of deltas and results per measurement of throughput"`
	PerCall   int           `name:"call" placeholder:"NUMBER" default:"100" help:"number of inputs per call, including its result"`
	Sessions  int           `placeholder:"NUMBER" default:"1000" help:"number of sessions that stream at once"`
	Open      int           `placeholder:"NUMBER" default:"5000" help:"number of sessions with an open call whose memory and recovery are measured"`
	Rounds    int           `placeholder:"NUMBER" default:"3" help:"number of measurements of each kind, in turns; the medians are printed"`
	Instances int           `placeholder:"NUMBER" default:"1" help:"number of processes of streamer serve to compare with one process; if 1, none"`
	Duration  time.Duration `placeholder:"DURATION" default:"5s" help:"time for which each latency is measured, at 1,000 deltas per second"`
}

// Bounds of Options.
const (
	MinPerCall  = 3
	MinSessions = 100
	MinDuration = time.Second
)

// Check returns an error that names the flag with an invalid value.
func (o *Options) Check() error {
	for _, f := range []struct {
		name       string
		got, least int
	}{
		{"call", o.PerCall, MinPerCall},
		{"sessions", o.Sessions, MinSessions},
		{"rounds", o.Rounds, 1},
		{"instances", o.Instances, 1},
		{"row-inputs", o.RowInputs, 1},
		{"returning", o.Returning, portions},
		{"log-size", o.LogSize, 1},
		{"open", o.Open, 1},
	} {
		if f.got < f.least {
			return fmt.Errorf("invalid --%s %d: need at least %d", f.name, f.got, f.least)
		}
	}
	if o.Inputs < o.PerCall*o.Sessions {
		return fmt.Errorf("invalid --inputs %d: need at least %d per session", o.Inputs, o.PerCall)
	}
	if o.Duration < MinDuration {
		return fmt.Errorf("invalid --duration %s: need at least %s", o.Duration, MinDuration)
	}
	return nil
}

// maxTime bounds a whole run.
const maxTime = time.Hour

// Run does all measurements. It shows its progress on progress if that is a terminal.
func Run(ctx context.Context, progress io.Writer, log zerolog.Logger, o Options) (r Result, err error) {
	if o.Broker.URL != "" {
		fmt.Fprintf(progress, "warning: this writes sessions named bench-… to %s and carries all partitions; do not run it beside a working streamer\n", redacted(o.Broker.URL))
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	steps := showSteps(ctx, progress, o.steps())
	defer steps.end()
	on := func(what string, measure func(r *rig) error) {
		if err != nil {
			return
		}
		steps.next(what)
		if err = o.onRig(ctx, log, measure); err != nil {
			err = fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(ctx)))
		}
	}
	if o.has(partCalls) {
		r.Rows = o.rows(ctx, on)
	}
	if o.has(partLatency) {
		on("latency", func(g *rig) error { return g.latencies(ctx, &r.Latencies) })
	}
	if o.has(partThroughput) {
		r.Rates = summary(o.rounds(ctx, on))
	}
	if o.has(partOpen) {
		on("open sessions, and recovery", func(g *rig) (err error) { r.Open, err = g.openSessions(ctx); return err })
	}
	if o.Instances > 1 {
		on("instances", func(g *rig) (err error) { r.Instances, err = g.instances(ctx); return err })
	}
	return r, err
}

// steps returns the number of measurements of a run.
func (o *Options) steps() (n int) {
	for part, times := range map[string]int{
		partCalls: o.Rounds * len(o.uses()), partLatency: 1, partThroughput: 2 * o.Rounds, partOpen: 1,
	} {
		if o.has(part) {
			n += times
		}
	}
	if o.Instances > 1 {
		n++
	}
	return n
}

// The parts of a run.
const (
	partCalls      = "calls"
	partThroughput = "throughput"
	partLatency    = "latency"
	partOpen       = "open"
)

// has reports whether a part of the run is requested.
func (o *Options) has(part string) bool { return slices.Contains(o.Parts, part) }

// rows measures the kinds of use in turns.
func (o *Options) rows(ctx context.Context, on func(string, func(*rig) error)) (rows []Row) {
	uses := o.uses()
	all := make([][]Row, len(uses))
	for i := range o.Rounds {
		for k, u := range uses {
			on(fmt.Sprintf("%s, round %d of %d", u, i+1, o.Rounds), func(r *rig) error {
				row, err := r.row(ctx, u)
				all[k] = append(all[k], row)
				return err
			})
		}
	}
	for _, of := range all {
		if len(of) > 0 {
			rows = append(rows, medianRow(of))
		}
	}
	return rows
}

// rounds measures throughput with few and with many sessions in turns.
func (o *Options) rounds(ctx context.Context, on func(string, func(*rig) error)) []round {
	rounds := make([]round, o.Rounds)
	for i := range rounds {
		name, t := fmt.Sprintf("throughput, round %d of %d", i+1, o.Rounds), &rounds[i]
		few := func(r *rig) error {
			m, err := r.path(ctx, o.plan(MinSessions))
			t.few = m.Throughput
			return err
		}
		many := func(r *rig) error { return r.throughputs(ctx, t) }
		order := []func(*rig) error{few, many}
		if i%2 == 1 { // the second measurement runs in a process with a larger heap
			slices.Reverse(order)
		}
		for _, measure := range order {
			on(name, measure)
		}
	}
	return rounds
}

// onRig runs a measurement on a rig of its own: without a given server that is a
// new one, since the data of an earlier measurement would slow down the next.
func (o *Options) onRig(ctx context.Context, log zerolog.Logger, measure func(r *rig) error) error {
	r, err := openRig(ctx, log, o)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.setRules(ctx, lifecycle.Off); err != nil {
		return err
	}
	return measure(r)
}

// rig is the server and the connections of a measurement. Everything that is
// compared uses the same kind of connection.
type rig struct {
	options *Options
	log     zerolog.Logger
	url     string
	broker  *streams.Broker
	nc      *nats.Conn // of the bare consumers
	nonce   string     // in the names of sessions
	runs    int        // prefixes used so far
	inputs  int        // published so far; their message ids differ
	rules   *lifecycle.Rules
	undo    []func()
}

// openRig connects to the given server, or starts one on loopback.
func openRig(ctx context.Context, log zerolog.Logger, o *Options) (r *rig, err error) {
	r = &rig{options: o, log: log, nonce: nuid.Next()}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	options := o.Broker
	options.OnNotice = func(msg string, err error) { log.Warn().Err(err).Msg(msg) }
	if options.URL == "" {
		if options.URL, err = r.startServer(); err != nil {
			return r, err
		}
	}
	r.url = options.URL
	if r.broker, err = streams.OpenBroker(ctx, options); err != nil {
		return r, err
	}
	r.undo = append(r.undo, func() { _ = r.broker.Close() })
	if r.nc, err = nats.Connect(options.URL, bareOptions(options)...); err != nil {
		return r, fmt.Errorf("connecting to %s: %w", redacted(options.URL), err)
	}
	r.undo = append(r.undo, r.nc.Close)
	return r, nil
}

// startServer starts a server that allows every connection to write internal
// subjects. The embedded server of serve allows only its own process, so that
// nothing could be compared with it over the same kind of connection.
func (r *rig) startServer() (url string, err error) {
	dir, err := os.MkdirTemp("", "streamer-bench-")
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	r.undo = append(r.undo, func() { _ = os.RemoveAll(dir) })
	url, stop, err := scratch(dir)
	if err == nil {
		r.undo = append(r.undo, stop)
	}
	return url, err
}

func (r *rig) close() {
	for i := len(r.undo) - 1; i >= 0; i-- {
		r.undo[i]()
	}
	r.undo = nil
}

func bareOptions(o broker.Options) []nats.Option {
	list := []nats.Option{nats.Name("streamer bench")}
	if o.Creds != "" {
		list = append(list, nats.UserCredentials(o.Creds))
	}
	if o.TLSCA != "" {
		list = append(list, nats.RootCAs(o.TLSCA))
	}
	if o.TLSCert != "" || o.TLSKey != "" {
		list = append(list, nats.ClientCert(o.TLSCert, o.TLSKey))
	}
	return list
}

// throughputs measures the whole path with all sessions at once, then two bare
// consumers on the same inputs.
func (r *rig) throughputs(ctx context.Context, t *round) (err error) {
	m, err := r.path(ctx, r.options.plan(r.options.Sessions))
	if t.many = m.Throughput; err == nil {
		t.count, err = r.bare(ctx, m.span, 0)
	}
	if err == nil {
		t.plain, err = r.bare(ctx, m.span, 10)
	}
	return err
}

// redacted returns a URL without its password.
func redacted(s string) string {
	if u, err := url.Parse(s); err == nil {
		return u.Redacted()
	}
	return "the given server"
}
