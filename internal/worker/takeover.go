package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// takeover takes a partition over. It runs before the loop and waits for the
// network itself, as no input of the partition is read yet.
type takeover struct{ *partition }

// takeOver reads the checkpoint, checks that the logs fit it, and loads the
// sessions that lack events or whose snapshots were lost. stop interrupts it.
// working is the context of the operations.
func (q *partition) takeOver(stop, working context.Context) error {
	return takeover{q}.run(stop, working)
}

func (q takeover) run(stop, working context.Context) error {
	q.w.takeovers.Add(1)
	defer q.w.tookOver()
	began := time.Now()
	q.history.epoch = q.log.Epoch()
	if err := q.loadCheckpoint(stop); err != nil {
		return err
	}
	q.history.rewinds = q.checkpoint.stored.Rewinds
	l, err := q.listSnapshots(stop)
	if err != nil {
		return err
	}
	if err := q.recallRewinds(stop, l.rewinds); err != nil {
		return err
	}
	if err := q.checkRewound(stop, l.stored); err != nil {
		return err
	}
	q.reading.pos = q.checkpoint.stored.Seq
	if l.open, err = q.lister.open(stop, l.stored); err != nil {
		return err
	}
	q.listed(working, l)
	if err := q.awaitLoads(stop, working); err != nil {
		return err
	}
	if err := q.checkOpen(stop, working, l.stored, began); err != nil {
		return err
	}
	return q.askRules(stop)
}

// listSnapshots lists the snapshots. It lists them again while it misses some that
// were stored before the checkpoint, which relies on them.
func (q takeover) listSnapshots(ctx context.Context) (l listing, err error) {
	least, replicated := q.checkpoint.stored.Snapshots, q.log.Replicated()
	err = confirm(ctx, replicated, func() (good bool, err error) {
		l, err = q.lister.snapshots(ctx)
		if err != nil || !replicated || l.newest >= least {
			return true, err
		}
		return q.log.SnapshotExpired(ctx, q.p, allTokens, least)
	})
	q.snapshots.newest = l.newest
	return l, err
}

// allTokens is the wildcard for the tokens of all sessions.
const allTokens = "*"

// loadCheckpoint reads the checkpoint and the rules in it, and begins one where
// there is none. Where it was lost the log is folded from its first input on:
// snapshots show which inputs were folded already.
func (q takeover) loadCheckpoint(ctx context.Context) (err error) {
	c := &q.checkpoint
	c.stored, c.rev, err = q.log.LoadCheckpoint(ctx, q.p)
	if err == nil {
		err = q.rules.begin(c.stored)
	}
	lost := errors.Is(err, broker.ErrDamaged)
	if err != nil && !lost {
		return err
	}
	first, _, err := q.log.InputBounds(ctx)
	if err != nil {
		return err
	}
	if lost || c.stored.Seq == 0 {
		if lost || first > 1 {
			q.status.damaged.Add(1)
			q.logger.Error().Uint64("seq", first).Msg("the checkpoint is missing or damaged; folding from the first input in the log")
		}
		return q.beginCheckpoint(ctx, first)
	}
	if c.stored.Seq < first && first > 1 {
		return fmt.Errorf("%w: partition %d is folded up to %d, the input log begins at %d; `streamer recover` shows what can be done", ErrLost, q.p, c.stored.Seq, first)
	}
	return nil
}

// beginCheckpoint writes the checkpoint of a partition that has none: at the
// first input, under the rules of that time, or the first that the log still has.
func (q takeover) beginCheckpoint(ctx context.Context, first uint64) (err error) {
	m := broker.Checkpoint{Seq: first}
	if first > 1 {
		err = q.log.RulesInputs(ctx, q.p, func(in *inputs.Input) error {
			if _, err := parseRules(in.Data); err != nil {
				return nil //nolint:nilerr // refused, as when it is read
			}
			m.Rules = bytes.Clone(in.Data)
			return errEnough
		})
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	c := &q.checkpoint
	c.stored = m
	if c.rev, err = q.log.WriteCheckpoint(ctx, q.p, m, c.rev); err != nil && !errors.Is(err, broker.ErrConflict) {
		return err
	}
	return q.rules.begin(m)
}

var errEnough = errors.New("enough")

// recallRewinds takes the rewinds that snapshots record where the checkpoint
// lacks them, because it was lost. Without them the inputs stored since would
// be folded again, under other numbers.
func (q takeover) recallRewinds(ctx context.Context, recorded broker.Rewinds) (err error) {
	if !recorded.Newer(q.history.rewinds) {
		return nil
	}
	c := &q.checkpoint
	c.stored.Rewinds, q.history.rewinds = recorded, recorded
	if c.rev, err = q.log.WriteCheckpoint(ctx, q.p, c.stored, c.rev); err != nil {
		return fmt.Errorf("worker: recording the rewinds of partition %d again: %w", q.p, err)
	}
	return nil
}

// checkRewound compares the input log with the newest of what was made of it,
// and records a rewind where the log came back shorter.
func (q takeover) checkRewound(ctx context.Context, stored []listed) error {
	check := q.inputCheck()
	known, err := q.survey().folded(ctx, stored)
	if err != nil {
		return err
	}
	good, err := check.same(ctx, known)
	q.history.genuine = check.genuine
	if err != nil || good {
		return err
	}
	r := q.rewindRecord(0)
	if err := r.write(ctx, known); err != nil {
		return err
	}
	return q.rewound(&r)
}

// checkOpen loads the sessions of which the event log and the snapshot do not
// have the same open: the snapshot was lost, or is older than the events. Most
// of them are folded again. since is before the checkpoint was read.
func (q takeover) checkOpen(stop, working context.Context, stored []listed, since time.Time) error {
	all, err := q.w.openEvents(stop, q.p, since)
	if err != nil {
		return err
	}
	noted := make(map[string]bool, len(stored))
	for i := range stored {
		s := &stored[i]
		noted[s.token] = s.held != "" || s.open == all[s.token].Calls && (s.timer != 0 || all[s.token].Runs == 0)
	}
	var differ []string
	for i := range stored {
		if !noted[stored[i].token] {
			differ = append(differ, stored[i].token)
		}
	}
	for token := range all {
		if _, listed := noted[token]; !listed {
			differ = append(differ, token)
		}
	}
	slices.Sort(differ)
	for _, token := range differ {
		q.sessions.known.add(token, 0)
		if !q.held.has(token) {
			q.load(working, token)
		}
	}
	return q.awaitLoads(stop, working)
}

// askRules asks, once, for this instance's settings where others, or none, are in force
// at the end of the log, and returns when they are stored there. It never answers
// another worker's change: two instances with different settings would then
// answer each other for ever.
func (q takeover) askRules(ctx context.Context) error {
	in, ok, err := q.log.LastRules(ctx, q.p)
	if err != nil {
		return err
	}
	var theirs *session.Rules // nil where none were asked for yet
	if last := q.rules.last(); last.raw != nil {
		theirs = last.rules
	}
	if ok && in.Seq >= q.reading.pos {
		switch last, err := parseRules(in.Data); {
		case errors.Is(err, ErrVersion):
			return err
		case err == nil: // one that is refused changes nothing
			theirs = last
		}
	}
	ours, err := json.Marshal(q.opts.Rules)
	if err != nil {
		return fmt.Errorf("worker: rules: %w", err)
	}
	if data, err := json.Marshal(theirs); err == nil && bytes.Equal(ours, data) {
		return nil
	}
	if a := q.log.PublishWait(ctx, q.rulesPub(ours, q.opts.Nonce)); a.Err != nil {
		return fmt.Errorf("worker: asking for the settings of this instance: %w", a.Err)
	}
	return nil
}

// openEvents returns how many calls and runs of each session of a partition are
// open, as read since a time. Partitions that are taken over together share a
// reading. An older one lacks what an earlier owner opened since and its checkpoint
// covers.
func (w *Worker) openEvents(ctx context.Context, p int, since time.Time) (map[string]eventlog.Opened, error) {
	usable := func(r *reading[openOf]) bool { return !r.began.Before(since) }
	all, err := w.opened.get(ctx, 0, usable, w.readOpen)
	return all[p], err
}

// openOf is how many calls and runs of the sessions of each partition are open.
type openOf map[int]map[string]eventlog.Opened

// readOpen is openEvents for all partitions. The sessions are divided once: otherwise
// each partition would look at those of all others.
func (w *Worker) readOpen(ctx context.Context) (openOf, error) {
	open, err := w.Log.OpenEvents(ctx)
	if err != nil {
		return nil, err
	}
	all := openOf{}
	for token, n := range open {
		p := w.Log.Partition(token)
		if all[p] == nil {
			all[p] = map[string]eventlog.Opened{}
		}
		all[p][token] = n
	}
	return all, nil
}

// tookOver notes that a takeover is over. The last one under way releases the
// memory of what they share; a later takeover reads again anyway.
func (w *Worker) tookOver() {
	if w.takeovers.Add(-1) == 0 {
		w.opened.forget()
	}
}
