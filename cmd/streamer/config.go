package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"streamer/internal/broker"
	"streamer/internal/gateway"
	"streamer/internal/lifecycle"
)

// natsFlags say which NATS a command speaks to.
type natsFlags struct {
	url, creds, ca, cert, key string
	dataDir                   string
}

func (n *natsFlags) register(fs *flag.FlagSet) {
	n.registerRemote(fs)
	fs.StringVar(&n.dataDir, "data-dir", defaultDataDir(), "`directory` of the embedded server")
}

// registerRemote registers those of a command that knows no data directory.
func (n *natsFlags) registerRemote(fs *flag.FlagSet) {
	fs.StringVar(&n.url, "nats-url", "", "`URL`s of a NATS cluster, separated by commas; if empty, the embedded server")
	fs.StringVar(&n.creds, "nats-creds", "", "credentials `file`")
	fs.StringVar(&n.ca, "nats-tls-ca", "", "PEM `file` of the authorities to trust")
	fs.StringVar(&n.cert, "nats-tls-cert", "", "PEM `file` of the client certificate")
	fs.StringVar(&n.key, "nats-tls-key", "", "PEM `file` of the client certificate's key")
}

func (n *natsFlags) options() broker.Options {
	return broker.Options{
		URL: n.url, Creds: n.creds, TLSCA: n.ca, TLSCert: n.cert, TLSKey: n.key, DataDir: n.dataDir,
	}
}

// client gives the options to reach a server that runs already.
func (n *natsFlags) client() (broker.Options, error) {
	o := n.options()
	if o.URL != "" {
		return o, nil
	}
	switch url, err := os.ReadFile(filepath.Join(n.dataDir, urlFile)); {
	case errors.Is(err, os.ErrNotExist):
		o.URL = "nats://" + defaultNATS
	case err != nil:
		return o, fmt.Errorf("--data-dir: %w", err) // what listens at the default is another's
	default:
		o.URL = strings.TrimSpace(string(url))
	}
	return o, nil
}

const (
	defaultNATS = "127.0.0.1:4222"
	defaultHTTP = "127.0.0.1:8080"
)

// serveFlags are the settings of serve and demo.
type serveFlags struct {
	nats                natsFlags
	natsListen          string
	partitions, replica int
	syncAlways          bool
	inputAge, eventAge  time.Duration
	storage             string
	maxBytes            int64

	httpListen, tokenFile string
	hosts, origins        words
	maxClients            int
	repairBytes           int
	repairService         bool

	given               func(fn func(*flag.Flag)) // the flags that were given
	rules               lifecycle.Rules
	rulesFile           string
	tools               toolTimeouts
	deltas, texts       string
	args, result        time.Duration
	wait, idle          time.Duration
	saveEvery, evict    time.Duration
	grace               time.Duration
	resident            int
	logLevel, logFormat string

	// No flags: for tests. noCondition leaves out what makes appends safe; greedy
	// carries all partitions, whoever else does; shared puts clients into the
	// account of the streams.
	noCondition, greedy, shared bool
}

func (s *serveFlags) register(fs *flag.FlagSet) {
	d := lifecycle.NewRules()
	s.rules, s.given = d, fs.Visit
	s.deltas, s.texts, s.logLevel, s.logFormat = string(d.Deltas), string(d.Texts), "info", "text"
	told := []string{string(lifecycle.Coalesced), string(lifecycle.Every), string(lifecycle.Off)}
	s.nats.register(fs)
	fs.StringVar(&s.natsListen, "nats-listen", defaultNATS, "loopback `address` of the embedded server; another free port is taken where it is in use")
	fs.IntVar(&s.partitions, "partitions", 0, "`number` of partitions, fixed when the streams are made; if 0, what is recorded, or 16")
	fs.IntVar(&s.replica, "replicas", 0, "`number` of replicas of the streams; if 0, what they have, or 1")
	fs.BoolVar(&s.syncAlways, "sync-always", false, "the embedded server syncs every message to disk, not once a second")
	fs.DurationVar(&s.inputAge, "input-age", 0, "retention of inputs; if 0, what the stream has, or 12h")
	fs.DurationVar(&s.eventAge, "event-age", 0, "retention of events; if 0, what the stream has, or 24h")
	fs.Var(choice{&s.storage, []string{"file", "memory"}}, "storage", "`storage` of the streams, file or memory; if empty, what they have, or file; memory is lost when the server stops")
	fs.Int64Var(&s.maxBytes, "max-bytes", 0, "maximum `bytes` of inputs kept; a full stream refuses new ones; more than the stream has raises its limit; if 0, what the stream has, or no limit")

	fs.StringVar(&s.httpListen, "http-listen", defaultHTTP, "`address` of the page and the HTTP API; beyond loopback it needs --http-token-file")
	fs.StringVar(&s.tokenFile, "http-token-file", "", "`file` with the token HTTP clients must show")
	fs.Var(&s.hosts, "http-host", "`name` by which the HTTP API may be reached besides loopback; may be repeated")
	fs.Var(&s.origins, "http-origin", "foreign `origin` whose pages may use the HTTP API; may be repeated")
	fs.IntVar(&s.maxClients, "http-max-clients", 0, "open event streams at the most; if 0, 10,000")
	fs.IntVar(&s.repairBytes, "repair-bytes", 0, "`bytes` of a history to repair at the most, and of all that are under way; if 0, 64 MiB")
	fs.BoolVar(&s.repairService, "repair-service", true, "repair histories on NATS too, on the subject streamer.repair")

	fs.StringVar(&s.rulesFile, "rules", "", "JSON `file` of settings, docs/operations.md has them all; a flag that is given wins over it")
	fs.DurationVar(&s.args, "args-timeout", d.ArgsTimeout.Std(), "silence after which a call's args are given up")
	fs.DurationVar(&s.result, "result-timeout", d.ResultTimeout.Std(), "time from complete args to the result after which a call is closed")
	fs.DurationVar(&s.wait, "wait-timeout", 0, "time a call may wait for a person; if 0, until the event log would forget it")
	fs.DurationVar(&s.idle, "run-idle", d.RunIdle.Std(), "silence after which a run is over")
	fs.Var(&s.tools, "tool-timeout", "`PATTERN=DURATION`: the result timeout of the tools whose names match; may be repeated, the first match holds")
	fs.Var(choice{&s.rules.Lang, []string{"en", "zh"}}, "lang", "`language` of the texts of closed calls: en or zh")
	fs.Var(choice{&s.deltas, told}, "deltas", "`way` in which args are told while they stream: coalesced, every or off")
	fs.Var(choice{&s.texts, told}, "texts", "`way` in which the model's text is told: coalesced, every or off")

	fs.DurationVar(&s.saveEvery, "save-every", time.Second, "how long after a change a session is saved")
	fs.DurationVar(&s.grace, "outage-grace", 10*time.Second, "how long, at most, deadlines that passed while inputs could not be stored are put off when they can; as long as that lasted if it is less")
	fs.DurationVar(&s.evict, "evict-after", time.Minute, "how long a quiet, saved session stays in memory")
	fs.IntVar(&s.resident, "max-resident", 0, "`number` of sessions in memory beyond which saved ones leave it after 2 s without input, the quietest first; if 0, 20,000")
	fs.Var(choice{&s.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "least `level` of what is logged: debug, info, warn or error")
	fs.Var(choice{&s.logFormat, []string{"text", "json"}}, "log-format", "`format` of the log: text or json")
}

// brokerOptions gives the settings of the broker.
func (s *serveFlags) brokerOptions() broker.Options {
	o := s.nats.options()
	o.Listen, o.Partitions, o.Replicas, o.SyncAlways = s.natsListen, s.partitions, s.replica, s.syncAlways
	o.Storage, o.MaxBytes = s.storage, s.maxBytes
	o.InputAge, o.EventAge, o.NoCondition = s.inputAge, s.eventAge, s.noCondition
	o.Shared = s.shared
	return o
}

// gatewayOptions gives the settings of the gateway.
func (s *serveFlags) gatewayOptions() (gateway.Options, error) {
	o := gateway.Options{Hosts: s.hosts, Origins: s.origins, MaxClients: s.maxClients}
	host, _, err := net.SplitHostPort(s.httpListen)
	if err != nil {
		return o, fmt.Errorf("--http-listen: %w", err)
	}
	ip := net.ParseIP(host)
	o.Exposed = host != "localhost" && (ip == nil || !ip.IsLoopback())
	if s.tokenFile != "" {
		token, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return o, fmt.Errorf("--http-token-file: %w", err)
		}
		o.Token = strings.TrimSpace(string(token))
	}
	if o.Exposed && o.Token == "" {
		return o, fmt.Errorf("--http-listen %s can be reached from other machines: give --http-token-file", s.httpListen)
	}
	return o, nil
}

// choice is a flag that is one of some words.
type choice struct {
	to    *string
	words []string
}

func (c choice) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

// Set takes one of the words.
func (c choice) Set(s string) error {
	if err := oneOf(s, c.words); err != nil {
		return err
	}
	*c.to = s
	return nil
}

// words is a flag that may be repeated.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

// Set adds a word.
func (w *words) Set(s string) error {
	*w = append(*w, s)
	return nil
}

// toolTimeouts is a flag PATTERN=DURATION that may be repeated.
type toolTimeouts []lifecycle.ToolRule

func (t *toolTimeouts) String() string {
	var b strings.Builder
	for _, r := range *t {
		fmt.Fprintf(&b, "%s=%s ", r.Pattern, r.ResultTimeout.Std())
	}
	return strings.TrimSpace(b.String())
}

// Set adds a rule.
func (t *toolTimeouts) Set(s string) error {
	pattern, text, ok := strings.Cut(s, "=")
	d, err := time.ParseDuration(text)
	if !ok || err != nil || d <= 0 || pattern == "" {
		return fmt.Errorf("%q is not PATTERN=DURATION, such as slow_*=30m", s)
	}
	*t = append(*t, lifecycle.ToolRule{Pattern: pattern, ResultTimeout: lifecycle.Of(d)})
	return nil
}

// defaultDataDir is a directory of this user's for data that outlives a
// restart.
func defaultDataDir() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "streamer")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "streamer")
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "streamer")
	case "windows":
		return filepath.Join(home, "AppData", "Local", "streamer")
	}
	return filepath.Join(home, ".local", "share", "streamer")
}
