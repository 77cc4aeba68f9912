package audit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/rewind"
	"streamer/internal/snapshot"
)

// RewindLog is the part of the broker that Rewinds needs.
type RewindLog interface {
	rewind.RepairLog
	Partitions() int
	LoadCheckpoint(ctx context.Context, p int) (m broker.Checkpoint, rev uint64, err error)
	ListSnapshots(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error)
	RecentEvents(ctx context.Context, t time.Time) (map[int]eventlog.Recent, error)
}

// Rewinds repairs the input log for each partition to which it came back shorter than
// what was folded, and calls fn with what was done. With dry it changes nothing, and
// calls fn with what it would do.
func Rewinds(ctx context.Context, log RewindLog, dry bool, fn func(p int, r *rewind.Report)) error {
	var known [][]rewind.Evidence
	var since time.Time // the oldest checkpoint
	for p := range log.Partitions() {
		m, _, err := log.LoadCheckpoint(ctx, p)
		if err != nil && !errors.Is(err, broker.ErrDamaged) {
			return err
		}
		if p == 0 || m.Read.At.Before(since) {
			since = m.Read.At
		}
		of, err := folded(ctx, log, p, m)
		if err != nil {
			return err
		}
		known = append(known, of)
	}
	if !since.IsZero() {
		since = since.Add(-time.Minute) // the clocks of servers differ
	}
	recent, err := log.RecentEvents(ctx, since)
	if err != nil {
		return err
	}
	reports, errs := make([]rewind.Report, len(known)), make([]error, len(known))
	var wg sync.WaitGroup
	for p, of := range known {
		if r, ok := recent[p]; ok {
			of = append(of, rewind.EventEvidence(&r.Top))
		}
		wg.Go(func() { // together: each asks for seconds whether the log is that short
			if reports[p], errs[p] = rewind.Repair(ctx, log, p, of, dry); errs[p] != nil {
				errs[p] = fmt.Errorf("audit: partition %d: %w", p, errs[p])
			}
		})
	}
	wg.Wait()
	for p := range reports {
		if errs[p] == nil && !reports[p].Same() {
			fn(p, &reports[p])
		}
	}
	return errors.Join(errs...)
}

// folded returns the inputs that checkpoint and snapshots show to have been folded.
func folded(ctx context.Context, log RewindLog, p int, m broker.Checkpoint) ([]rewind.Evidence, error) {
	var known []rewind.Evidence
	if m.Seq > 0 {
		known = append(known, rewind.Evidence{N: m.Seq - 1})
	}
	if m.Read.Seq > 0 {
		known = append(known, rewind.Evidence{N: m.Read.Seq, At: m.Read.At})
	}
	_, err := log.ListSnapshots(ctx, p, func(token string, _ uint64, header map[string]string, _ time.Time) error {
		if h := snapshot.ParseHeader(header); h.Input > 0 {
			known = append(known, rewind.Evidence{N: h.Input, Token: token, At: h.At})
		}
		return nil
	})
	return known, err
}
