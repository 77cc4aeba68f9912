package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/lifecycle"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// benchTime bounds a whole run.
const benchTime = 30 * time.Minute

// benchFlags say how much is measured.
type benchFlags struct {
	nats                                         natsFlags
	inputs, perCall, sessions, rounds, instances int
	waiting                                      int // sessions with an open call
	duration                                     time.Duration
	json                                         bool
}

// bench measures the whole path on a NATS server, and what the server alone
// does in the same run, by turns: on a machine with other work only the ratios
// of the two mean something.
func bench(ctx context.Context, std stdio, args []string) error {
	fs := flags("bench")
	var f benchFlags
	f.nats.registerRemote(fs)
	fs.IntVar(&f.inputs, "inputs", 600_000, "`number` of deltas and results per measurement of throughput")
	fs.IntVar(&f.perCall, "call", 100, "`number` of inputs that a call takes, its result among them")
	fs.IntVar(&f.sessions, "sessions", 1_000, "`number` of sessions that stream at once")
	fs.IntVar(&f.waiting, "open", 5_000, "`number` of sessions with an open call whose memory and recovery are measured")
	fs.IntVar(&f.rounds, "rounds", 3, "`number` of times each is measured, by turns; medians are printed")
	fs.IntVar(&f.instances, "instances", 1, "also compare this `number` of processes of streamer serve with one")
	fs.DurationVar(&f.duration, "duration", 5*time.Second, "how long each latency is measured, at 1,000 deltas per second")
	fs.BoolVar(&f.json, "json", false, "print one JSON object")
	rest, err := parse(std, fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return misused(std, fs, "there is no argument %q", rest[0])
	case f.perCall < fewestInputs:
		return misused(std, fs, "--call %d: a call takes at least %d inputs", f.perCall, fewestInputs)
	case f.sessions < fewSessions || f.inputs < f.perCall*f.sessions:
		return misused(std, fs, "--sessions must be at least %d, and --inputs at least %d for each of them: a call", fewSessions, f.perCall)
	case f.duration < time.Second || f.rounds < 1 || f.instances < 1 || f.waiting < 1:
		return misused(std, fs, "--duration must be at least 1s, and --rounds, --instances and --open at least 1")
	}
	ctx, cancel := context.WithTimeout(ctx, benchTime)
	defer cancel()
	return f.run(ctx, std)
}

func (f *benchFlags) run(ctx context.Context, std stdio) error {
	if f.nats.url != "" {
		fmt.Fprintln(std.err, "warning: this writes sessions named bench-… to "+redactedURL(f.nats.url)+" and carries all partitions; do not run it beside a streamer that works")
	}
	m, err := f.measure(ctx, std)
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
	log    zerolog.Logger
	url    string
	broker *broker.Broker
	nc     *nats.Conn // of the bare consumers
	nonce  string     // in the sessions' names
	paths  int        // measured so far; each has sessions of its own
	rules  *lifecycle.Rules
	undo   []func()
}

// open reaches the server given, or starts one on loopback, in a temporary
// directory.
func (f *benchFlags) open(ctx context.Context, std stdio) (r *rig, err error) {
	r = &rig{flags: f, nonce: nuid.Next()}
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
	if options.URL == "" {
		if options.URL, err = r.embed(); err != nil {
			return r, err
		}
	}
	r.url = options.URL
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

// fewSessions is what --sessions is compared with.
const fewSessions = 100

// measure measures one thing after the other, where no server is given each on
// one that has no past: what it holds of the last one would slow down the next.
func (f *benchFlags) measure(ctx context.Context, std stdio) (m measured, err error) {
	on := func(what string, do func(r *rig) error) {
		if err != nil {
			return
		}
		fmt.Fprintln(std.err, what+" ...")
		if err = f.on(ctx, std, do); err != nil {
			err = fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(ctx)))
		}
	}
	var late delayed
	on("latency", func(r *rig) error { return r.latencies(ctx, &late) })
	rounds := make([]round, f.rounds)
	for i := range rounds {
		n, t := fmt.Sprintf("throughput, round %d of %d", i+1, f.rounds), &rounds[i]
		few := func(r *rig) (err error) { t.few, _, err = r.path(ctx, fewSessions); return err }
		many := func(r *rig) error { return r.throughputs(ctx, t) }
		order := []func(*rig) error{few, many}
		if i%2 == 1 { // what comes second finds a process with a past
			slices.Reverse(order)
		}
		for _, do := range order {
			on(n, do)
		}
	}
	m = summary(rounds)
	m.delayed = late
	on("open sessions, and recovery", func(r *rig) (err error) { m.Open, err = r.openSessions(ctx); return err })
	on("instances", func(r *rig) (err error) { m.Instances, err = r.instances(ctx); return err })
	return m, err
}

// on does something on a rig of its own.
func (f *benchFlags) on(ctx context.Context, std stdio, do func(r *rig) error) error {
	r, err := f.open(ctx, std)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.rule(ctx, lifecycle.Off); err != nil {
		return err
	}
	return do(r)
}

// throughputs measures the whole path with all sessions at once, and two bare
// ones over the same inputs.
func (r *rig) throughputs(ctx context.Context, t *round) (err error) {
	var span [2]uint64
	if t.many, span, err = r.path(ctx, r.flags.sessions); err == nil {
		t.count, err = r.bare(ctx, span, 0)
	}
	if err == nil {
		t.plain, err = r.bare(ctx, span, 10)
	}
	return err
}
