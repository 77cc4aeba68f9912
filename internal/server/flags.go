package server

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/client"
	"streamer/internal/lifecycle"
)

// StreamFlags are the flags of the streams and of the embedded server.
type StreamFlags struct {
	NATSListen string        `name:"nats-listen" group:"streams" placeholder:"ADDRESS" default:"${nats_listen}" help:"loopback address of the embedded server; if its port is in use, a free port is used"`
	Partitions int           `group:"streams" placeholder:"NUMBER" help:"number of partitions, fixed when the streams are created; if 0, the recorded number, or 16"`
	Replicas   int           `group:"streams" placeholder:"NUMBER" help:"number of replicas of the streams; if 0, the number they have, or 1"`
	SyncAlways bool          `group:"streams" help:"sync of each message to disk by the embedded server, instead of once a second"`
	InputAge   time.Duration `group:"streams" placeholder:"DURATION" help:"retention of inputs; if 0, the retention of the stream, or 12h"`
	EventAge   time.Duration `group:"streams" placeholder:"DURATION" help:"retention of events; if 0, the retention of the stream, or 24h"`
	Storage    string        `group:"streams" placeholder:"STORAGE" enum:",file,memory" default:"" help:"storage of the streams, file or memory; if empty, the storage they have, or file; memory is lost when the server stops"`
	MaxBytes   int64         `group:"streams" placeholder:"BYTES" help:"maximum size of all inputs; beyond it, new inputs are rejected; a larger value raises the limit of the stream; if 0, the limit of the stream, or none"`
}

func (f *StreamFlags) set(o *client.BrokerOptions) {
	o.Listen, o.Partitions, o.Replicas, o.SyncAlways = f.NATSListen, f.Partitions, f.Replicas, f.SyncAlways
	o.InputAge, o.EventAge, o.Storage, o.MaxBytes = f.InputAge, f.EventAge, f.Storage, f.MaxBytes
}

// RuleFlags are the flags of the settings of the fold.
type RuleFlags struct {
	Rules         string           `group:"rules" placeholder:"FILE" help:"JSON file of settings, which docs/operations.md lists; explicit flags take precedence"`
	ArgsTimeout   time.Duration    `group:"rules" placeholder:"DURATION" default:"${args_timeout}" help:"silence after which a call with incomplete args is closed"`
	ResultTimeout time.Duration    `group:"rules" placeholder:"DURATION" default:"${result_timeout}" help:"time from complete args after which a call without a result is closed"`
	WaitTimeout   time.Duration    `group:"rules" placeholder:"DURATION" help:"time after which a call that waits for a person is closed; if 0, shortly before its start leaves the event log"`
	RunIdle       time.Duration    `group:"rules" placeholder:"DURATION" default:"${run_idle}" help:"silence after which a run ends"`
	ToolTimeout   []PatternTime    `group:"rules" placeholder:"PATTERN=DURATION" sep:"none" help:"result timeout of tools by the pattern of their names, such as slow_*=30m; may be repeated, the first match counts"`
	Lang          string           `group:"rules" placeholder:"LANGUAGE" enum:"en,zh" default:"${lang}" help:"language of the texts of closed calls: en or zh"`
	Deltas        lifecycle.Deltas `group:"rules" placeholder:"MODE" enum:"coalesced,every,off" default:"${deltas}" help:"events about streaming args: coalesced, every or off"`
	Texts         lifecycle.Deltas `group:"rules" placeholder:"MODE" enum:"coalesced,every,off" default:"${texts}" help:"events about the model's text: coalesced, every or off"`
}

// PatternTime is a time for the names that match a pattern.
type PatternTime struct {
	Pattern string
	Time    time.Duration
}

// UnmarshalText parses PATTERN=DURATION.
func (p *PatternTime) UnmarshalText(text []byte) error {
	at := max(0, strings.LastIndexByte(string(text), '='))
	d, err := time.ParseDuration(strings.TrimPrefix(string(text[at:]), "="))
	if at == 0 || err != nil || d <= 0 {
		return fmt.Errorf("%q: %w", text, errPatternTime)
	}
	*p = PatternTime{string(text[:at]), d}
	return nil
}

var errPatternTime = errors.New("need PATTERN=DURATION, such as slow_*=30m")

func (p PatternTime) String() string { return p.Pattern + "=" + p.Time.String() }

// set sets the settings. The flags that are given win over those of the file.
func (f *RuleFlags) set(r *Rules, given func(flag string) bool) {
	r.File = f.Rules
	b := &r.Base
	b.ArgsTimeout, b.ResultTimeout = lifecycle.Of(f.ArgsTimeout), lifecycle.Of(f.ResultTimeout)
	b.WaitTimeout, b.RunIdle = lifecycle.Of(f.WaitTimeout), lifecycle.Of(f.RunIdle)
	b.Lang, b.Deltas, b.Texts = f.Lang, f.Deltas, f.Texts
	b.Tools = nil
	for _, t := range f.ToolTimeout {
		b.Tools = append(b.Tools, lifecycle.ToolRule{Pattern: t.Pattern, ResultTimeout: lifecycle.Of(t.Time)})
	}
	flags := *b
	r.Override = func(r *lifecycle.Rules) { override(r, &flags, given) }
}

// override sets in r the settings of the flags that were given. Their patterns
// of tools come first, because the first match counts.
func override(r, flags *lifecycle.Rules, given func(flag string) bool) {
	r.Tools = slices.Concat(flags.Tools, r.Tools)
	for flag, set := range map[string]func(){
		"args-timeout":   func() { r.ArgsTimeout = flags.ArgsTimeout },
		"result-timeout": func() { r.ResultTimeout = flags.ResultTimeout },
		"wait-timeout":   func() { r.WaitTimeout = flags.WaitTimeout },
		"run-idle":       func() { r.RunIdle = flags.RunIdle },
		"lang":           func() { r.Lang = flags.Lang },
		"deltas":         func() { r.Deltas = flags.Deltas },
		"texts":          func() { r.Texts = flags.Texts },
	} {
		if given(flag) {
			set()
		}
	}
}

// WorkerFlags are the flags of the worker.
type WorkerFlags struct {
	SaveEvery     time.Duration `group:"worker" placeholder:"DURATION" default:"${save_every}" help:"time from the first input of a session to its first snapshot; four times as long for later ones while inputs arrive"`
	OutageGrace   time.Duration `group:"worker" placeholder:"DURATION" default:"${outage_grace}" help:"maximum extension of deadlines that expired during an outage; never more than the outage lasted"`
	EvictAfter    time.Duration `group:"worker" placeholder:"DURATION" default:"${evict_after}" help:"idle time after which a session with a current snapshot is compressed in memory"`
	Retain        []PatternTime `group:"worker" placeholder:"PATTERN=DURATION" sep:"none" help:"erasure of finished sessions within a minute after a time without inputs, by the pattern of their names, such as tmp-*=1h; may be repeated, the first match counts"`
	SessionMemory int           `group:"worker" placeholder:"MIB" help:"maximum memory of sessions in MiB; beyond it, the least recently used are compressed, then removed, and read again when they return; if 0, 256"`
}

func (f *WorkerFlags) set(c *Config) {
	c.Retain = f.Retain
	o := &c.Worker
	o.SnapshotEvery, o.EvictAfter, o.MaxMemory = f.SaveEvery, f.EvictAfter, f.SessionMemory<<20
	o.Grace = cmp.Or(f.OutageGrace, -1) // the worker's 0 is its default
}

// TelemetryFlags are the flags of metrics, traces and logs.
type TelemetryFlags struct {
	MetricTools  int    `group:"log" placeholder:"NUMBER" help:"maximum number of tools with a label of their own in metrics; if 0, 50"`
	OTLPEndpoint string `name:"otlp-endpoint" group:"log" placeholder:"URL" help:"URL for spans of calls, sent by OTLP over HTTP, such as http://localhost:4318/v1/traces; if empty, the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT, or none"`
	OTLPContent  bool   `name:"otlp-content" group:"log" help:"span attributes with the first 4 KiB of the args and of the result of a call"`
	OTLPLogs     string `name:"otlp-logs" group:"log" placeholder:"URL" help:"URL for the lines of the log, sent by OTLP over HTTP as well, such as http://localhost:4318/v1/logs; if empty, the endpoint of OTEL_EXPORTER_OTLP_LOGS_ENDPOINT, or none"`
}

func (f *TelemetryFlags) set(c *Config) {
	c.MetricTools, c.OTLPEndpoint, c.OTLPContent = f.MetricTools, f.OTLPEndpoint, f.OTLPContent
}

// LogFlags are the flags of the log.
type LogFlags struct {
	LogLevel  string `group:"log" placeholder:"LEVEL" enum:"debug,info,warn,error" default:"${log_level}" help:"minimum log level: debug, info, warn or error"`
	LogFormat string `group:"log" placeholder:"FORMAT" enum:"text,json" default:"text" help:"log format: text or json"`
}

// Flags are the flags of a server.
type Flags struct {
	client.NATSFlags
	StreamFlags
	Roles []Role        `group:"http" placeholder:"ROLES" enum:"worker,gateway,sink" default:"worker,gateway,sink" help:"parts that this process runs: worker, gateway and sink; without gateway it serves only health and metrics over HTTP"`
	Drain time.Duration `group:"http" placeholder:"DURATION" help:"maximum wait for open calls before the process ends; meanwhile it refuses new sessions, and /readyz says so; if 0, no wait"`
	GatewayFlags
	TapFlags
	SinkFlags
	RuleFlags
	WorkerFlags
	TelemetryFlags
	LogFlags
}

// Config returns the configuration of a server. given reports whether a flag has a
// value that is not its default.
func (f *Flags) Config(given func(flag string) bool) Config {
	c := NewConfig()
	c.Broker = f.Options()
	f.StreamFlags.set(&c.Broker)
	c.Roles, c.Drain = rolesOf(f.Roles), f.Drain
	f.GatewayFlags.set(&c)
	f.TapFlags.set(&c)
	c.Sink = f.SinkFlags
	f.RuleFlags.set(&c.Rules, given)
	f.WorkerFlags.set(&c)
	f.TelemetryFlags.set(&c)
	return c
}

// Defaults returns the defaults of the flags whose tags name a variable.
func Defaults() map[string]string {
	c := NewConfig()
	b := c.Rules.Base
	return map[string]string{
		"data_dir":       c.Broker.DataDir,
		"nats_listen":    c.Broker.Listen,
		"http_listen":    c.HTTPListen,
		"args_timeout":   b.ArgsTimeout.Std().String(),
		"result_timeout": b.ResultTimeout.Std().String(),
		"run_idle":       b.RunIdle.Std().String(),
		"lang":           b.Lang,
		"deltas":         string(b.Deltas),
		"texts":          string(b.Texts),
		"save_every":     c.Worker.SnapshotEvery.String(),
		"outage_grace":   c.Worker.Grace.String(),
		"evict_after":    c.Worker.EvictAfter.String(),
		"log_level":      "info",
	}
}
