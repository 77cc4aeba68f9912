package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/lifecycle"
)

// remoteFlags registers the flags that name a NATS cluster.
func remoteFlags(fs *flag.FlagSet, o *broker.Options) {
	fs.StringVar(&o.URL, "nats-url", "", "comma-separated `URL`s of a NATS cluster; if empty, the embedded server")
	fs.StringVar(&o.Creds, "nats-creds", "", "credentials `file`")
	fs.StringVar(&o.TLSCA, "nats-tls-ca", "", "PEM `file` of the certificate authorities to trust")
	fs.StringVar(&o.TLSCert, "nats-tls-cert", "", "PEM `file` of the client certificate")
	fs.StringVar(&o.TLSKey, "nats-tls-key", "", "PEM `file` of the client certificate's key")
}

// natsFlags registers the flags that name a NATS cluster or an embedded server.
func natsFlags(fs *flag.FlagSet, o *broker.Options) {
	remoteFlags(fs, o)
	fs.StringVar(&o.DataDir, "data-dir", app.DefaultDataDir(), "data `directory` of the embedded server")
}

// serveFlags are the flags of serve and demo.
type serveFlags struct {
	fs                  *flag.FlagSet
	config              app.Config
	grace               time.Duration
	tools               []lifecycle.ToolRule
	args, result        time.Duration
	wait, idle          time.Duration
	logLevel, logFormat string
}

func newServeFlags(fs *flag.FlagSet) *serveFlags {
	s := &serveFlags{fs: fs, config: app.NewConfig(), logLevel: "info", logFormat: "text"}
	natsFlags(fs, &s.config.Broker)
	s.broker()
	s.config.GatewayFlags(fs)
	s.rules()
	s.worker()
	return s
}

func (s *serveFlags) broker() {
	fs, o := s.fs, &s.config.Broker
	fs.StringVar(&o.Listen, "nats-listen", o.Listen, "loopback `address` of the embedded server; if its port is in use, a free port is used")
	fs.IntVar(&o.Partitions, "partitions", 0, "`number` of partitions, fixed when the streams are created; if 0, the recorded number, or 16")
	fs.IntVar(&o.Replicas, "replicas", 0, "`number` of replicas of the streams; if 0, the number they have, or 1")
	fs.BoolVar(&o.SyncAlways, "sync-always", false, "the embedded server syncs each message to disk, instead of once a second")
	fs.DurationVar(&o.InputAge, "input-age", 0, "retention of inputs; if 0, the retention of the stream, or 12h")
	fs.DurationVar(&o.EventAge, "event-age", 0, "retention of events; if 0, the retention of the stream, or 24h")
	fs.Var(choice[string]{&o.Storage, []string{"file", "memory"}}, "storage", "`storage` of the streams, file or memory; if empty, the storage they have, or file; memory is lost when the server stops")
	fs.Int64Var(&o.MaxBytes, "max-bytes", 0, "maximum size of all inputs in `bytes`; a full stream rejects new inputs; a larger value than the stream has raises its limit; if 0, the limit of the stream, or none")
}

func (s *serveFlags) rules() {
	fs, r := s.fs, &s.config.Rules.Base
	deltas := []lifecycle.Deltas{lifecycle.Coalesced, lifecycle.Every, lifecycle.Off}
	fs.StringVar(&s.config.Rules.File, "rules", "", "JSON `file` of settings, which docs/operations.md lists; flags that are given win over it")
	fs.DurationVar(&s.args, "args-timeout", r.ArgsTimeout.Std(), "silence after which a call with incomplete args is closed")
	fs.DurationVar(&s.result, "result-timeout", r.ResultTimeout.Std(), "time from complete args after which a call without a result is closed")
	fs.DurationVar(&s.wait, "wait-timeout", 0, "time after which a call that waits for a person is closed; if 0, shortly before its start leaves the event log")
	fs.DurationVar(&s.idle, "run-idle", r.RunIdle.Std(), "silence after which a run ends")
	fs.Func("tool-timeout", "`PATTERN=DURATION`: result timeout of the tools whose names match; may be repeated, the first match counts", s.addTool)
	fs.Var(choice[string]{&r.Lang, []string{"en", "zh"}}, "lang", "`language` of the texts of closed calls: en or zh")
	fs.Var(choice[lifecycle.Deltas]{&r.Deltas, deltas}, "deltas", "`mode` of events about streaming args: coalesced, every or off")
	fs.Var(choice[lifecycle.Deltas]{&r.Texts, deltas}, "texts", "`mode` of events about the model's text: coalesced, every or off")
}

// addTool appends the rule of a --tool-timeout.
func (s *serveFlags) addTool(rule string) error {
	pattern, text, ok := strings.Cut(rule, "=")
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d <= 0 || pattern == "" {
		return errors.New("need PATTERN=DURATION, such as slow_*=30m")
	}
	s.tools = append(s.tools, lifecycle.ToolRule{Pattern: pattern, ResultTimeout: lifecycle.Of(d)})
	return nil
}

func (s *serveFlags) worker() {
	fs, o := s.fs, &s.config.Worker
	fs.DurationVar(&o.SnapshotEvery, "save-every", o.SnapshotEvery, "time from a change of a session to its next snapshot")
	fs.DurationVar(&s.grace, "outage-grace", o.Grace, "maximum time by which deadlines that passed while inputs could not be stored are postponed; shorter if the outage was shorter")
	fs.DurationVar(&o.EvictAfter, "evict-after", o.EvictAfter, "time without input after which a session with a current snapshot leaves memory")
	fs.IntVar(&o.MaxResident, "max-resident", 0, "`number` of sessions in memory above which sessions with a current snapshot leave it after 2 s without input, the longest idle first; if 0, 20,000")
	fs.IntVar(&s.config.MetricTools, "metric-tools", 0, "maximum `number` of tools that have a label of their own in metrics; if 0, 50")
	fs.StringVar(&s.config.OTLPEndpoint, "otlp-endpoint", "", "`URL` to which spans of calls are sent by OTLP over HTTP, such as http://localhost:4318/v1/traces; if empty, the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT, or none")
	fs.Var(choice[string]{&s.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "minimum log `level`: debug, info, warn or error")
	fs.Var(choice[string]{&s.logFormat, []string{"text", "json"}}, "log-format", "log `format`: text or json")
}

// open opens the server that the flags configure.
func (s *serveFlags) open(ctx context.Context, std stdio) (*app.Server, error) {
	log, err := app.Logger(std.err, s.logLevel, s.logFormat)
	if err != nil {
		return nil, err
	}
	return app.Open(ctx, s.configuration(), log)
}

// configuration returns the configuration after the flags were parsed.
func (s *serveFlags) configuration() app.Config {
	c := s.config
	c.Worker.Grace = cmp.Or(s.grace, -1) // the worker's 0 is its default
	r := &c.Rules.Base
	r.ArgsTimeout, r.ResultTimeout = lifecycle.Of(s.args), lifecycle.Of(s.result)
	r.WaitTimeout, r.RunIdle = lifecycle.Of(s.wait), lifecycle.Of(s.idle)
	r.Tools = s.tools
	flags := *r
	c.Rules.Override = func(r *lifecycle.Rules) { s.override(r, &flags) }
	return c
}

// override sets in r the settings of the flags that were given. Their patterns
// of tools come first, because the first match counts.
func (s *serveFlags) override(r, flags *lifecycle.Rules) {
	r.Tools = slices.Concat(flags.Tools, r.Tools)
	s.fs.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "args-timeout":
			r.ArgsTimeout = flags.ArgsTimeout
		case "result-timeout":
			r.ResultTimeout = flags.ResultTimeout
		case "wait-timeout":
			r.WaitTimeout = flags.WaitTimeout
		case "run-idle":
			r.RunIdle = flags.RunIdle
		case "lang":
			r.Lang = flags.Lang
		case "deltas":
			r.Deltas = flags.Deltas
		case "texts":
			r.Texts = flags.Texts
		}
	})
}
