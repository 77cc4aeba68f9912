package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// RecoverLog is the part of the broker that Losses and Recover need.
type RecoverLog interface {
	Partitions() int
	Partition(token string) int
	InputBounds(ctx context.Context) (first, last uint64, err error)
	EventBounds(ctx context.Context) (first, last uint64, err error)
	Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error
	Head(ctx context.Context, token string) (seq uint64, last events.Record, err error)
	LoadCheckpoint(ctx context.Context, p int) (m broker.Checkpoint, rev uint64, err error)
	WriteCheckpoint(ctx context.Context, p int, m broker.Checkpoint, rev uint64) (newRev uint64, err error)
	LoadSnapshot(ctx context.Context, p int, token string) (s broker.Snapshot, ok bool, err error)
	ListSnapshots(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error)
	EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *broker.Pub
	SnapshotPub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *broker.Pub, blobs []*broker.Pub)
	PublishWait(ctx context.Context, p *broker.Pub) broker.Ack
}

// Loss is a partition that lost inputs before they were folded, or that holds
// sessions whose snapshots were lost.
type Loss struct {
	Partition  int
	Checkpoint uint64 // the partition is folded up to this input
	First      uint64 // the first input of the input log; 0 where no input was lost
	Sessions   []LostSession
}

// LostSession is a session of such a partition.
type LostSession struct {
	Token   string
	Open    session.OpenItems // what Recover closes
	lastSeq uint64            // of its last event
}

// Losses returns the partitions that stopped because inputs were lost, and those
// that hold sessions because their snapshots were lost. It lists the sessions of
// each that have open items, which nothing else would ever close, and changes
// nothing. It calls progress, unless that is nil, while it reads the event log.
func Losses(ctx context.Context, log RecoverLog, progress func(Progress)) ([]Loss, error) {
	losses, held, err := lostPartitions(ctx, log)
	if err != nil || losses == nil {
		return nil, err
	}
	open, err := openSessions(ctx, log, progress)
	if err != nil {
		return nil, err
	}
	for _, token := range slices.Sorted(maps.Keys(held)) { // one may have no open item any more
		if !slices.ContainsFunc(open, func(s LostSession) bool { return s.Token == token }) {
			open = append(open, LostSession{Token: token})
		}
	}
	for i := range losses {
		for _, s := range open {
			if log.Partition(s.Token) == losses[i].Partition && (losses[i].First != 0 || held[s.Token]) {
				losses[i].Sessions = append(losses[i].Sessions, s)
			}
		}
	}
	return losses, nil
}

// lostPartitions returns the losses without their sessions, and the tokens of the
// held sessions.
func lostPartitions(ctx context.Context, log RecoverLog) (losses []Loss, held map[string]bool, err error) {
	first, _, err := log.InputBounds(ctx)
	if err != nil {
		return nil, nil, err
	}
	held = map[string]bool{}
	for p := range log.Partitions() {
		m, _, err := log.LoadCheckpoint(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		n := len(held)
		_, err = log.ListSnapshots(ctx, p, func(token string, _ uint64, header map[string]string, _ time.Time) error {
			if snapshot.ParseHeader(header).Held != "" {
				held[token] = true
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		switch {
		case m.Seq != 0 && m.Seq < first && first > 1:
			losses = append(losses, Loss{Partition: p, Checkpoint: m.Seq, First: first})
		case len(held) > n:
			losses = append(losses, Loss{Partition: p, Checkpoint: m.Seq})
		}
	}
	return losses, held, nil
}

// openSessions returns the sessions of the event log that have open items, in the
// order of their last events.
func openSessions(ctx context.Context, log RecoverLog, progress func(Progress)) ([]LostSession, error) {
	first, last, err := log.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	byToken := map[string]*LostSession{}
	err = log.Events(ctx, "", 0, func(stored events.Record) error {
		if progress != nil {
			progress(Progress{What: "events", Done: stored.Seq + 1 - first, Total: max(last, stored.Seq) + 1 - first})
		}
		s := byToken[stored.Token]
		if s == nil {
			s = &LostSession{Token: stored.Token}
			byToken[stored.Token] = s
		}
		s.lastSeq = stored.Seq
		return s.Open.AddStored(stored)
	})
	if err != nil {
		return nil, fmt.Errorf("audit: reading the event log: %w", err)
	}
	var list []LostSession
	for _, s := range byToken {
		if !s.Open.Empty() {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b LostSession) int { return cmp.Compare(a.lastSeq, b.lastSeq) })
	return list, nil
}
