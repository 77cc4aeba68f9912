package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// benchTime bounds a whole run.
const benchTime = 10 * time.Minute

// benchFlags say how much is measured.
type benchFlags struct {
	nats             natsFlags
	inputs, sessions int
	duration         time.Duration
	json             bool
}

// measured is what bench found, in the units of its JSON names.
type measured struct {
	Few     throughput `json:"few_sessions"`
	Many    throughput `json:"many_sessions"`
	Count   float64    `json:"bare_count_inputs_per_s"`
	Plain   float64    `json:"bare_pipeline_inputs_per_s"`
	Ours    delays     `json:"latency"`
	Hops    delays     `json:"bare_two_hops"`
	Trip    delays     `json:"bare_round_trip"`
	Open    openCost   `json:"open_sessions"`
	OfCount float64    `json:"of_bare_count"`
	OfPlain float64    `json:"of_bare_pipeline"`
	Late    float64    `json:"p99_of_two_hops"`
	LateRaw float64    `json:"p99_of_round_trip"`
	Growth  float64    `json:"cpu_many_of_few"`
}

// bench measures the whole path on a NATS server, and what the server alone
// does in the same run: on a machine with other work only the ratios of the
// two mean something.
func bench(ctx context.Context, std stdio, args []string) error {
	fs := flags("bench")
	var f benchFlags
	f.nats.registerRemote(fs)
	fs.IntVar(&f.inputs, "inputs", 60_000, "`number` of deltas per measurement of throughput")
	fs.IntVar(&f.sessions, "sessions", 5_000, "`number` of sessions that are open at once")
	fs.DurationVar(&f.duration, "duration", 5*time.Second, "how long latency is measured, at 1,000 deltas per second")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	rest, err := parse(std, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return misused(std, fs, "there is no argument %q", rest[0])
	case f.sessions < 100 || f.inputs < 3*f.sessions || f.duration < time.Second:
		return misused(std, fs, "it takes at least 100 sessions, 3 inputs for each, and a duration of 1s")
	}
	ctx, cancel := context.WithTimeout(ctx, benchTime)
	defer cancel()
	return f.run(ctx, std)
}

func (f *benchFlags) run(ctx context.Context, std stdio) error {
	b, err := f.open(ctx, std)
	if err != nil {
		return err
	}
	defer b.close()
	m, err := b.measure(ctx)
	if err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(std.out).Encode(m)
	}
	return m.print(std.out)
}

// rig is where things are measured: all that is compared goes over the same
// kind of connection.
type rig struct {
	flags  *benchFlags
	say    func(what string)
	log    zerolog.Logger
	broker *broker.Broker
	nc     *nats.Conn // of the bare consumers
	nonce  string     // in the sessions' names
	paths  int        // measured so far; each has sessions of its own
	undo   []func()
}

// open reaches the server given, or starts one on loopback, in a temporary
// directory.
func (f *benchFlags) open(ctx context.Context, std stdio) (r *rig, err error) {
	r = &rig{flags: f, nonce: nuid.Next(), say: func(what string) { fmt.Fprintln(std.err, what) }}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.log, err = logger(std, "warn", "text"); err != nil {
		return r, err
	}
	options := f.nats.options()
	options.OnNotice = func(msg string, err error) { r.log.Warn().Err(err).Msg(msg) }
	if options.URL != "" {
		r.say("warning: this writes sessions named bench-… to " + redactedURL(options.URL) + " and carries all partitions; do not run it beside a streamer that works")
	} else if options.URL, err = r.embed(); err != nil {
		return r, err
	}
	if r.broker, err = broker.Open(ctx, options); err != nil {
		return r, err
	}
	r.undo = append(r.undo, func() { _ = r.broker.Close() })
	if r.nc, err = nats.Connect(options.URL, bareOptions(options)...); err != nil {
		return r, fmt.Errorf("connecting to %s: %w", redactedURL(options.URL), err)
	}
	r.undo = append(r.undo, r.nc.Close)
	return r, nil
}

// embed starts a server of its own for all that is measured. The one that
// serve runs lets only its own process write what streamer writes, so that
// nothing could be compared with it over the same kind of connection.
func (r *rig) embed() (url string, err error) {
	dir, err := os.MkdirTemp("", "streamer-bench-")
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	r.undo = append(r.undo, func() { _ = os.RemoveAll(dir) })
	url, stop, err := broker.Scratch(dir)
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

func (r *rig) measure(ctx context.Context) (m measured, err error) {
	const few = 100
	var span [2]uint64
	steps := []struct {
		what string
		do   func() error
	}{
		{"the whole path, few sessions", func() (err error) { m.Few, _, err = r.path(ctx, few); return err }},
		{"the whole path, many sessions", func() (err error) { m.Many, span, err = r.path(ctx, r.flags.sessions); return err }},
		{"a bare consumer of the same inputs", func() (err error) { m.Count, err = r.bare(ctx, span, 0); return err }},
		{"a bare pipeline over the same inputs", func() (err error) { m.Plain, err = r.bare(ctx, span, 10); return err }},
		{"latency", func() (err error) { m.Ours, err = r.latency(ctx); return err }},
		{"latency of two bare hops", func() (err error) { m.Hops, m.Trip, err = r.bareLatency(ctx); return err }},
		{"open sessions, and recovery", func() (err error) { m.Open, err = r.openSessions(ctx); return err }},
	}
	for _, s := range steps {
		r.say(s.what + " ...")
		if err := s.do(); err != nil {
			return m, fmt.Errorf("%s: %w", s.what, errors.Join(err, context.Cause(ctx)))
		}
	}
	m.OfCount, m.OfPlain = m.Many.Inputs/m.Count, m.Many.Inputs/m.Plain
	m.Late, m.LateRaw = m.Ours.P99/m.Hops.P99, m.Ours.P99/m.Trip.P99
	m.Growth = m.Many.CPU / m.Few.CPU
	return m, nil
}

// print writes the table.
func (m *measured) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	rate := func(what string, t throughput) {
		fmt.Fprintf(w, "%s, %d sessions\t%.0f inputs/s\t%.0f events/s\t%.1f µs CPU per delta\n", what, t.Sessions, t.Inputs, t.Events, t.CPU)
	}
	late := func(what string, d delays) {
		fmt.Fprintf(w, "%s\tp50 %.0f µs\tp99 %.0f µs\tp99.9 %.0f µs\n", what, d.P50, d.P99, d.P999)
	}
	rate("whole path", m.Few)
	rate("whole path", m.Many)
	fmt.Fprintf(w, "bare consumer, counts only\t%.0f inputs/s\t\twhole path: %.2f of it\n", m.Count, m.OfCount)
	fmt.Fprintf(w, "bare pipeline, a message per ten\t%.0f inputs/s\t\twhole path: %.2f of it\n", m.Plain, m.OfPlain)
	fmt.Fprintf(w, "CPU per delta, many to few sessions\t%.2f\n", m.Growth)
	late("delta to event, 1,000 deltas/s", m.Ours)
	late("bare, stored twice", m.Hops)
	late("bare, published and heard", m.Trip)
	fmt.Fprintf(w, "p99, whole path to bare\t%.2f stored twice\t%.2f heard\n", m.Late, m.LateRaw)
	fmt.Fprintf(w, "open sessions\t%d\t%.1f KiB of worker memory each\n", m.Open.Sessions, m.Open.Bytes/1024)
	fmt.Fprintf(w, "opened cold\t%.0f sessions/s\n", m.Open.Rate)
	fmt.Fprintf(w, "restart until caught up, alarms armed\t%.0f ms\t%.0f µs per open session\n", m.Open.Recovery, m.Open.Recovery*1000/float64(m.Open.Sessions))
	fmt.Fprintln(w, "\nCPU is the whole process's: its own server where it runs one, connections and worker.")
	return w.Flush()
}
