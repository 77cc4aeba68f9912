package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/cli"
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
func Diagnose(ctx context.Context, o broker.Options) Findings {
	var fs Findings
	b, err := app.Dial(ctx, o)
	if err != nil {
		fs.fail("connection", "start streamer serve, or name the server with --nats-url and --nats-creds, or the data directory with --data-dir", "%v", err)
		return fs
	}
	defer b.Close()
	fs = examine(ctx, b)
	if o.URL == "" {
		fs.disk(o.DataDir)
	}
	return fs
}

// examine checks the server, the streams and the workers.
func examine(ctx context.Context, b *app.Broker) (fs Findings) {
	d := diagnosis{Broker: b, Findings: &fs}
	d.server(ctx)
	d.streams(ctx)
	d.workers(ctx)
	d.partitions(ctx, time.Now())
	return fs
}

// diagnosis is one Diagnose.
type diagnosis struct {
	*app.Broker
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
	asked := time.Now()
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
		d.ok("stream", "%s: %s%s, %s, %d replicas, messages are kept %s", s.Name, bytes(s.Bounds.Bytes), limit, strings.ToLower(s.Storage), s.Replicas, ageText(s.MaxAge))
		if len(s.Behind) > 0 {
			d.fail("replicas", "look at these servers; with too few of them the stream stores nothing", "%s: %s not current", s.Name, strings.Join(s.Behind, ", "))
		}
		if s.MaxBytes > 0 && s.Bounds.Bytes > s.MaxBytes/10*9 {
			d.warn("room", "start streamer serve with a larger --max-bytes", "%s is nearly full: %s of %s", s.Name, bytes(s.Bounds.Bytes), bytes(s.MaxBytes))
		}
	}
	if err := d.Ready(ctx); err != nil {
		d.fail("ready", "", "%v", err)
	}
	d.clock(list, asked)
}

// clock compares the clock of the server with that of this machine. The answer came
// between asked and now.
func (d diagnosis) clock(list []broker.StreamReport, asked time.Time) {
	if len(list) == 0 || list[0].Clock.IsZero() {
		return
	}
	at := list[0].Clock
	difference := max(asked.Sub(at), time.Until(at), 0)
	if difference > clockDifference {
		d.warn("clock", "synchronise the clocks (chrony, systemd-timesyncd)", "the clock of the server differs from that of this machine by %s", difference.Round(time.Second))
		return
	}
	d.ok("clock", "that of the server agrees with that of this machine")
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

func (d diagnosis) partitions(ctx context.Context, now time.Time) {
	list, err := d.PartitionReports(ctx)
	if err != nil {
		fix := ""
		if errors.Is(err, broker.ErrDamaged) {
			fix = "see \"Damaged files\" in docs/operations.md"
		}
		d.fail("partitions", fix, "%v", err)
		return
	}
	var behind []string
	oldest := time.Duration(0)
	for _, p := range list {
		if age := now.Sub(p.LastAt); p.Last >= p.Checkpoint && p.Last > 0 && age > lagTime {
			behind = append(behind, fmt.Sprint(p.Partition))
			oldest = max(oldest, age)
		}
	}
	if len(behind) > 0 {
		d.fail("lag", "look for \"partition stopped\" in the logs of the workers, and at /readyz", "partitions %s have inputs that are not folded, the last %s old", strings.Join(behind, ", "), oldest.Round(time.Second))
		return
	}
	d.ok("lag", "all of the %d partitions are folded to their end, or at most %s behind", len(list), lagTime)
}

// leastFree is the number of free bytes on the disk below which there is a warning.
const leastFree = 1 << 30

func (fs *Findings) disk(dir string) {
	switch free := broker.FreeBytes(dir); {
	case free == 0: // not known
	case free < leastFree:
		fs.warn("disk", "free some space, or choose another --data-dir; at the limit nothing is stored", "%s free for %s", bytes(free), dir)
	default:
		fs.ok("disk", "%s free for %s", bytes(free), dir)
	}
}

func ageText(d time.Duration) string {
	if d == 0 {
		return "without limit of time"
	}
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}

// bytes returns a number of bytes with a unit.
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
