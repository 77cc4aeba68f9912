package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// takeover reads what a partition begins with. No input of it is read yet, so it waits
// for the network itself. It is the first event of the partition.
type takeover struct {
	*Worker
	partition int
	reports   reports

	checkpoint broker.Checkpoint
	rev        uint64
	rules      session.RulesLog
	snapshots  listing
	open       map[string]eventlog.Opened
	recent     eventlog.Recent // events since the checkpoint
	epoch      uint64
	began      time.Time
}

// takeOver reads the checkpoint and the headers of the snapshots, checks that the input
// log is the one that they are of, and reads which calls and runs are open.
func (w *Worker) takeOver(ctx context.Context, q *partition) (*takeover, error) {
	w.takeovers.Add(1)
	defer w.tookOver()
	t := &takeover{Worker: w, partition: q.p, reports: q.reports, epoch: w.Log.Epoch(), began: time.Now()}
	err := t.readCheckpoint(ctx)
	if err == nil {
		err = t.listSnapshots(ctx, q.lister)
	}
	if err == nil {
		err = t.checkInputs(ctx)
	}
	if err == nil {
		t.open, err = w.openEvents(ctx, q.p, t.began)
	}
	return t, err
}

func (q *partition) begin(t *takeover) {
	q.checkpoint.stored, q.checkpoint.rev, q.rules = t.checkpoint, t.rev, t.rules
	q.reading.pos, q.reading.last = t.checkpoint.Seq, t.checkpoint.Read
	q.checked.epoch, q.appender.newest = t.epoch, t.recent.Top
	q.useListing(&t.snapshots)
	q.expect(t)
	q.loadOpen(t)
	q.loadExpected()
}

// loadOpen loads the sessions of which the event log and the snapshot do not have the
// same open: the snapshot was lost, or is older than the events. Those whose inputs are
// read again are loaded then.
func (q *partition) loadOpen(t *takeover) {
	for i := range t.snapshots.stored {
		s := &t.snapshots.stored[i]
		open := t.open[s.token]
		delete(t.open, s.token)
		if s.Held == "" && q.ends.of[s.token] == nil && (s.Open != open.Calls || s.Timer == 0 && open.Runs > 0) {
			q.load(s.token)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(t.open)) {
		if q.ends.of[token] == nil {
			q.table.add(token)
			q.load(token)
		}
	}
}

// readCheckpoint reads the checkpoint and the rules in it, and begins one where
// there is none. Where it was lost the log is folded from its first input on:
// snapshots show which inputs were folded already.
func (t *takeover) readCheckpoint(ctx context.Context) (err error) {
	t.checkpoint, t.rev, err = t.Log.LoadCheckpoint(ctx, t.partition)
	lost := errors.Is(err, broker.ErrDamaged)
	if err == nil {
		err = t.rules.Begin(t.checkpoint.Rules)
		lost = err != nil && !errors.Is(err, session.ErrVersion)
	}
	if err != nil && !lost {
		return err
	}
	first, _, err := t.Log.InputBounds(ctx)
	if err != nil {
		return err
	}
	if lost || t.checkpoint.Seq == 0 {
		if lost || first > 1 {
			t.reports.status.damaged.Add(1)
			t.reports.logger.Error().Uint64("seq", first).Msg("checkpoint missing or damaged; folding from the first input in the log")
		}
		return t.beginCheckpoint(ctx, first)
	}
	if t.checkpoint.Seq < first && first > 1 {
		return fmt.Errorf("%w: partition %d is folded up to %d, the input log begins at %d; `streamer recover` shows what can be done", ErrLost, t.partition, t.checkpoint.Seq, first)
	}
	return nil
}

func (t *takeover) beginCheckpoint(ctx context.Context, first uint64) error {
	if err := t.beginAt(ctx, first); err != nil {
		return err
	}
	rev, err := t.Log.WriteCheckpoint(ctx, t.partition, t.checkpoint, t.rev)
	if errors.Is(err, broker.ErrConflict) {
		return nil
	}
	t.rev = rev
	return err
}

// beginAt begins at the first input, under the rules of that time, or the first that the
// log still has.
func (t *takeover) beginAt(ctx context.Context, first uint64) error {
	t.checkpoint = broker.Checkpoint{Seq: first}
	if first > 1 {
		err := t.Log.RulesInputs(ctx, t.partition, func(in *inputs.Input) error {
			if _, err := session.ParseRules(in.Data); err != nil {
				return nil //nolint:nilerr // refused, as when it is read
			}
			t.checkpoint.Rules = bytes.Clone(in.Data)
			return errEnough
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	return t.rules.Begin(t.checkpoint.Rules)
}

// listSnapshots lists the snapshots. Where there is none, or the newest that the checkpoint
// relies on was lost, the log is folded from its first input on.
func (t *takeover) listSnapshots(ctx context.Context, l lister) (err error) {
	t.snapshots, err = l.list(ctx)
	if err != nil || len(t.snapshots.stored) > 0 && t.snapshots.newest >= t.checkpoint.Snapshots {
		return err
	}
	first, _, err := t.Log.InputBounds(ctx)
	if err != nil || t.checkpoint.Seq <= first {
		return err
	}
	return t.beginAt(ctx, first)
}

var errEnough = errors.New("enough")

// askRules asks, once, for this instance's settings where others, or none, are in force
// at the end of the log, and returns when they are stored there. It never answers
// another worker's change: two instances with different settings would then
// answer each other for ever.
func (q *partition) askRules(ctx context.Context) error {
	in, ok, err := q.log.LastRules(ctx, q.p)
	if err != nil {
		return err
	}
	var theirs *session.Rules // nil where none were asked for yet
	if last := q.rules.Last(); last.Raw != nil {
		theirs = last.Rules
	}
	if ok && in.Seq >= q.reading.pos {
		switch last, err := session.ParseRules(in.Data); {
		case errors.Is(err, session.ErrVersion):
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
// covers. The caller may change the map.
func (w *Worker) openEvents(ctx context.Context, p int, since time.Time) (map[string]eventlog.Opened, error) {
	usable := func(r *reading[openOf]) bool { return !r.began.Before(since) }
	all, err := w.opened.get(ctx, 0, usable, w.readOpen)
	return maps.Clone(all[p]), err
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
		w.recent.forget()
	}
}
