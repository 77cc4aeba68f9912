package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"streamer/internal/broker"
	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/natsserver"
	"streamer/internal/sink"
)

// State is the outcome of a check.
type State string

// The outcomes of a check.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failed  State = "failed"
)

// Finding is the outcome of one check.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"` // what to do
}

// Findings are the outcomes of all checks.
type Findings []Finding

// Healthy reports whether no check failed.
func (fs Findings) Healthy() bool {
	return !slices.ContainsFunc(fs, func(f Finding) bool { return f.State == Failed })
}

// Write writes the findings.
func (fs Findings) Write(o Output) error {
	if o.JSON {
		return json.NewEncoder(o.W).Encode(fs)
	}
	colours := map[State]cli.Colour{OK: cli.Green, Warning: cli.Yellow, Failed: cli.Red}
	for _, f := range fs {
		if _, err := fmt.Fprintf(o.W, "%s  %-11s %s\n", o.Paint.Text(colours[f.State], fmt.Sprintf("%-7s", f.State)), f.Check, f.Text); err != nil {
			return err
		}
		if f.Fix != "" {
			fmt.Fprintf(o.W, "         %-11s → %s\n", "", f.Fix)
		}
	}
	return nil
}

func (fs *Findings) ok(check, format string, args ...any) {
	*fs = append(*fs, Finding{check, OK, fmt.Sprintf(format, args...), ""})
}

func (fs *Findings) warn(check, fix, format string, args ...any) {
	*fs = append(*fs, Finding{check, Warning, fmt.Sprintf(format, args...), fix})
}

func (fs *Findings) fail(check, fix, format string, args ...any) {
	*fs = append(*fs, Finding{check, Failed, fmt.Sprintf(format, args...), fix})
}

// Diagnose checks the server, the streams, the workers and the disk. It changes
// nothing.
func Diagnose(ctx context.Context, o client.BrokerOptions) Findings {
	var fs Findings
	b, err := client.Dial(ctx, o)
	if err != nil {
		why, fix := err, ""
		if e, ok := errors.AsType[*client.ConnectionError](err); ok {
			why, fix = e.Err, e.Fix
		}
		fs.fail("connection", fix, "%v", why)
		return fs
	}
	defer b.Close()
	fs = examine(ctx, b)
	if o.URL == "" {
		if free, err := natsserver.FreeBytes(o.DataDir); err == nil {
			fs.disk(o.DataDir, free)
		}
	}
	return fs
}

func examine(ctx context.Context, b *client.Broker) (fs Findings) {
	d := diagnosis{Broker: b, Findings: &fs}
	for _, check := range []func(context.Context){d.server, d.streams, d.storage, d.workers, d.partitions, d.processes, d.sinks} {
		bounded, cancel := context.WithTimeout(ctx, checkTime)
		check(bounded)
		cancel()
		if slices.ContainsFunc(fs, func(f Finding) bool { return f.Check == majority }) {
			break // the other checks would only find its consequences
		}
	}
	return fs
}

// checkTime bounds each group of checks: a request to streams without a leader is
// repeated until then.
const checkTime = 10 * time.Second

type diagnosis struct {
	*client.Broker
	*Findings
}

func (d diagnosis) server(ctx context.Context) {
	s, err := d.Server(ctx)
	if err != nil {
		d.fail("server", "look at the log of the NATS server", "%v", err)
		return
	}
	cluster := ""
	if s.Cluster != "" {
		cluster = " in cluster " + s.Cluster
	}
	d.ok("server", "NATS %s (%s)%s at %s, round trip %s, messages up to %s", s.Version, s.Name, cluster, s.URL, s.RTT.Round(10*time.Microsecond), bytes(s.MaxPayload))
	if s.Account != "" {
		d.ok("user", "%s in account %s", cmp.Or(s.User, "no name"), s.Account)
	}
	if w := d.Shared(ctx); w != "" {
		d.warn("account", "use deploy/nats/accounts.conf", "%s", w)
	}
	for _, w := range d.Warnings() {
		d.warn("streams", "", "%s", w)
	}
}

// clockDifference is the maximum difference between the clock of a server and of
// this machine that is no warning: fold times and deadlines come from the server.
const clockDifference = 2 * time.Second

func (d diagnosis) streams(ctx context.Context) {
	start := time.Now()
	list, err := d.StreamReports(ctx)
	if err != nil {
		d.fail("streams", "look at the log of the NATS server, and at nats stream report", "%v", err)
		return
	}
	for _, s := range list {
		limit := ""
		if s.MaxBytes > 0 {
			limit = " of " + bytes(s.MaxBytes)
		}
		d.ok("stream", "%s: %s%s, %s, replicas: %d, messages are kept %s", s.Name, bytes(s.Bounds.Bytes), limit, strings.ToLower(s.Storage), s.Replicas, ageText(s.MaxAge))
		if s.MaxConsumers > 0 && s.Consumers > s.MaxConsumers/10*9 {
			d.warn("consumers", "delete consumers that no client uses: nats consumer ls "+s.Name, "%s has %d consumers; clients can create at most %d", s.Name, s.Consumers, s.MaxConsumers)
		}
		if s.MaxBytes > 0 && s.Bounds.Bytes > s.MaxBytes/10*9 {
			d.warn("room", "start streamer serve with a larger --max-bytes", "%s is nearly full: %s of %s", s.Name, bytes(s.Bounds.Bytes), bytes(s.MaxBytes))
		}
	}
	d.replicas(list)
	if err := d.Ready(ctx); err != nil {
		d.fail("ready", "see \"Failures of NATS\" in docs/operations.md", "%v", err)
	}
	d.clock(list, start)
}

// enoughReplicas is the number of replicas with which a stream survives one loss.
const enoughReplicas = 3

// majority is the check whether most replicas of the streams are there.
const majority = "majority"

func (d diagnosis) replicas(list []broker.StreamReport) {
	behind, few, lost := map[string][]string{}, []string{}, []string{}
	for _, s := range list {
		for _, server := range s.Behind {
			behind[server] = append(behind[server], s.Name)
		}
		if s.Cluster != "" && s.Replicas < enoughReplicas {
			few = append(few, fmt.Sprintf("%s has %d", s.Name, s.Replicas))
		}
		if 2*len(s.Behind) >= s.Replicas {
			lost = append(lost, fmt.Sprintf("%s has %d of %d", s.Name, s.Replicas-len(s.Behind), s.Replicas))
		}
	}
	if !slices.ContainsFunc(list, func(s broker.StreamReport) bool { return s.Cluster != "" }) {
		d.ok("replicas", "one server has the streams; streamer backup copies them")
	}
	for _, server := range slices.Sorted(maps.Keys(behind)) {
		d.fail("replicas", "start the server, or look at its log and its disk; the streams store as long as most replicas are current", "server %s does not run or is behind, for %s", server, strings.Join(behind[server], ", "))
	}
	if len(lost) > 0 {
		d.fail(majority, "start the servers that do not run: until then nothing is stored, and nothing else is checked", "most replicas are missing: %s", strings.Join(lost, ", "))
	}
	if len(few) > 0 {
		d.warn("replicas", fmt.Sprintf("nats stream edit STREAM --replicas %d, for each, and start streamer with --replicas %d", enoughReplicas, enoughReplicas),
			"too few replicas to survive the loss of a server: %s", strings.Join(few, ", "))
	}
}

func (d diagnosis) storage(ctx context.Context) {
	used, most, err := d.Storage(ctx)
	switch {
	case err != nil:
		d.fail("storage", "look at the log of the NATS server", "%v", err)
	case most > 0 && used > most/10*9:
		d.warn("storage", "raise the limit of the account, or keep less (--input-age, --event-age); at the limit nothing is stored", "the account has stored %s of %s", bytes(used), bytes(most))
	case most > 0:
		d.ok("storage", "the account has stored %s of %s", bytes(used), bytes(most))
	}
}

// clock compares the clocks of the servers that lead streams with that of this
// machine. The answers came between start and now.
func (d diagnosis) clock(list []broker.StreamReport, start time.Time) {
	difference, server := time.Duration(0), ""
	for _, s := range list {
		if s.Clock.IsZero() {
			continue
		}
		if by := max(start.Sub(s.Clock), time.Until(s.Clock)); by > difference {
			difference, server = by, s.Leader
		}
	}
	if difference > clockDifference {
		d.warn("clock", "synchronise the clocks (chrony, systemd-timesyncd)", "the clock of the server %s differs from that of this machine by %s", server, difference.Round(time.Second))
		return
	}
	d.ok("clock", "the clocks of the servers agree with that of this machine")
}

func (d diagnosis) workers(ctx context.Context) {
	members, err := d.Members(ctx)
	switch {
	case err != nil:
		d.fail("workers", "", "%v", err)
	case len(members) == 0:
		d.fail("workers", "start streamer serve, with the role worker", "no worker runs: inputs are stored, but not folded")
	default:
		d.ok("workers", "%d", len(members))
	}
}

// lagTime is the age above which an input that is not covered by a checkpoint is a
// failure. A checkpoint is written every few seconds.
const lagTime = time.Minute

func (d diagnosis) partitions(ctx context.Context) {
	now := time.Now()
	list, err := d.PartitionReports(ctx)
	first, last, unread := d.InputBounds(ctx) // after the checkpoints, below which it does not end
	if err := cmp.Or(err, unread); err != nil {
		fix := ""
		if errors.Is(err, broker.ErrDamaged) {
			fix = "see \"Damaged files\" in docs/operations.md"
		}
		d.fail("partitions", fix, "%v", err)
		return
	}
	var lost, behind []string
	oldest := time.Duration(0)
	for _, p := range list {
		age := now.Sub(p.LastAt)
		switch {
		case p.Folded > last, p.Checkpoint > 0 && p.Checkpoint < first:
			lost = append(lost, fmt.Sprint(p.Partition))
		case p.Last >= p.Checkpoint && p.Last > 0 && age > lagTime:
			behind = append(behind, fmt.Sprint(p.Partition))
			oldest = max(oldest, age)
		}
	}
	if len(lost) > 0 {
		d.fail("inputs", "streamer recover shows what can be done", "inputs were lost: the log has those from %d to %d, the checkpoints of partitions %s are outside", first, last, strings.Join(lost, ", "))
	}
	if len(behind) > 0 {
		d.fail("lag", "look for \"partition stopped\" in the logs of the workers, and at /readyz", "partitions %s have inputs that are not folded, the last %s old", strings.Join(behind, ", "), oldest.Round(time.Second))
	}
	if len(lost)+len(behind) == 0 {
		d.ok("lag", "all of the %d partitions are folded to their end, or at most %s behind", len(list), lagTime)
	}
}

func (d diagnosis) sinks(ctx context.Context) {
	list, err := sink.List(ctx, d.Broker)
	if err != nil {
		d.fail("sinks", "", "%v", err)
	}
	for _, s := range list {
		if name := cli.Clean(s.Name); s.Dead > 0 {
			d.warn("sink", "streamer sinks "+name+" prints why; --again delivers them once more", "%s: %d dead letters", name, s.Dead)
		}
	}
}

// minFree is the number of free bytes on the disk below which there is a warning.
const minFree = 1 << 30

func (fs *Findings) disk(dir string, free int64) {
	switch {
	case free < natsserver.RoomNeeded:
		fs.fail("disk", "free some space; until then nothing is stored", "full: %s free for %s", bytes(free), dir)
	case free < minFree:
		fs.warn("disk", "free some space, or choose another --data-dir; at the limit nothing is stored", "%s free for %s", bytes(free), dir)
	default:
		fs.ok("disk", "%s free for %s", bytes(free), dir)
	}
}

func ageText(d time.Duration) string {
	if d == 0 {
		return "without limit of time"
	}
	return cli.Short(d.String())
}

func bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
