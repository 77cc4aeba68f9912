package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/snapshot"
)

// maxConfirmed is the maximum number of sessions without a usable snapshot that are
// read again, one by one. More cannot be explained by a replica that lags.
const maxConfirmed = 100

// snapshotBatch is the number of snapshots that are decoded at once.
const snapshotBatch = 100

type keptSnapshot struct {
	token  string
	stored broker.Snapshot
	wrong  error // why its blobs cannot be read; nil if they can
}

// unreadable returns the sessions whose snapshot is missing, cannot be loaded, or
// is older than events that a snapshot covers by the checkpoint. A snapshot that
// has expired is no fault.
func (c *comparison) unreadable(ctx context.Context) ([]Unreadable, error) {
	verdicts := make([]map[string]string, c.Log.Partitions()) // by partition: one goroutine writes each map
	for p := range verdicts {
		verdicts[p] = map[string]string{}
	}
	reading, l := newLanes(ctx, func(_ context.Context, k keptSnapshot) error {
		verdicts[c.Log.Partition(k.token)][k.token] = c.usable(k)
		return nil
	})
	n := uint64(0)
	err := c.Log.AllSnapshots(reading, func(token string, s broker.Snapshot, wrong error) error {
		if c.includes(token) {
			l.add(c.Log.Partition(token), keptSnapshot{token, s, wrong})
		}
		if n++; n%snapshotBatch == 0 {
			l.flush()
			c.progress("snapshots", n, 0)
		}
		return nil
	})
	if failed := l.wait(); err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("audit: reading the snapshots: %w", err)
	}
	list := c.lacking(verdicts)
	if len(list) > maxConfirmed {
		return list, nil
	}
	return c.confirm(ctx, list)
}

// lacking returns the sessions that need a snapshot and have no usable one, in
// order, by the verdicts of usable.
func (c *comparison) lacking(verdicts []map[string]string) (list []Unreadable) {
	kept := time.Now().Add(-c.Log.SnapshotAge())
	c.each(func(token string, s *sessionDigest) {
		if s.covered == (events.ID{}) || s.at.Before(kept) {
			return
		}
		why, found := verdicts[c.Log.Partition(token)][token]
		if !found {
			why = "there is none"
		}
		if why != "" {
			list = append(list, Unreadable{token, why})
		}
	})
	slices.SortFunc(list, func(a, b Unreadable) int { return cmp.Compare(a.Token, b.Token) })
	return list
}

// confirm reads the snapshots of the sessions again from the stream's leader: a
// replica can lag, and a worker may have written them meanwhile.
func (c *comparison) confirm(ctx context.Context, list []Unreadable) (still []Unreadable, err error) {
	for _, u := range list {
		s, ok, err := c.Log.LoadSnapshot(ctx, c.Log.Partition(u.Token), u.Token)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		u.Why = "there is none"
		if ok || err != nil {
			u.Why = c.usable(keptSnapshot{u.Token, s, err})
		}
		if u.Why != "" {
			still = append(still, u)
		}
	}
	return still, nil
}

// usable returns why a worker could not continue from a snapshot, "" if it could.
func (c *comparison) usable(k keptSnapshot) string {
	if k.wrong != nil {
		return k.wrong.Error()
	}
	state, err := snapshot.Load(k.stored.Data)
	if err != nil {
		return err.Error()
	}
	s := c.parts[c.Log.Partition(k.token)].sessions[k.token]
	if s != nil && state.N < s.covered.Seq {
		return fmt.Sprintf("it ends at input %d, the checkpoint relies on one that reaches event %s", state.N, s.covered)
	}
	return ""
}
