package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"
)

// rewindMargin is how far behind all that was found folded the inputs of a
// rewound log are numbered: what other workers had under way counts as folded.
const rewindMargin = 1 << 16

// history is what a partition knows of the input log as it was read before.
type history struct {
	rewinds broker.Rewinds
	genuine uint64 // inputs folded under numbers up to it are still in the log
	epoch   uint64 // of the connection in which the log was found to be the same
	past    shared[*session.RulesLog]

	checking bool // a logCheck is under way
	// found shows a rewind that is not recorded yet. Nothing is folded meanwhile.
	found     *foundRewind
	recording bool
}

// foundRewind is a rewind that the load of a session showed.
type foundRewind struct {
	evidence evidence
	loading  *loading
}

func (q *partition) inputCheck() inputCheck {
	c := inputCheck{log: q.log, rewinds: q.history.rewinds}
	if q.history.epoch == q.log.Epoch() {
		c.genuine = q.history.genuine
	}
	return c
}

// rewindRecord finds where the input log was rewound and records it in the
// checkpoint. It is part of an operation or of the takeover.
type rewindRecord struct {
	inputCheck
	all        Log
	partition  int
	checkpoint broker.Checkpoint
	rev        uint64
	rules      func(context.Context) (*session.RulesLog, error) // those in the log, read now
	// from is where the rewind begins at the earliest, and waiting where it begins for
	// the session that showed it: at the first input that can wait for it, or earlier
	// where inputs before that are folded again too. 0 if there is none.
	from, waiting uint64
	behind        bool

	lower bool   // the checkpoint moved back
	top   uint64 // highest number under which an input was folded
}

// write records that the input log came back shorter: of known, which is in
// order, the last is no longer there. Inputs stored since, but none before from,
// are numbered behind all that was folded.
func (r *rewindRecord) write(ctx context.Context, known []evidence) error {
	first, err := r.firstNew(ctx, known)
	if err != nil {
		return err
	}
	if r.behind {
		r.waiting = min(r.waiting, first)
	}
	first = max(first, r.from)
	before, _, err := r.log.Input(ctx, first-1)
	if err != nil {
		return err
	}
	if r.top, err = r.topFolded(ctx, known, before.At); err != nil {
		return err
	}
	margin := uint64(rewindMargin)
	if r.waiting > 0 && r.waiting < first {
		margin += first - r.waiting // those have numbers below the first one's
	}
	m := r.checkpoint
	m.Rewinds, m.Read = r.rewinds.Add(first, r.top+margin, before.At), broker.Witness{}
	if r.lower = m.Seq > first; r.lower {
		m.Seq = first
		if m.Rules, err = r.rulesBefore(ctx, first); err != nil {
			return err
		}
	}
	rev, err := r.all.WriteCheckpoint(ctx, r.partition, m, r.rev)
	if err != nil {
		return fmt.Errorf("worker: recording that the input log of partition %d was rewound: %w", r.partition, err)
	}
	r.checkpoint, r.rev = m, rev
	return nil
}

// rulesBefore returns the rules in force for the input seq, as the log has them
// now: a change of settings that it lost is not in force for inputs stored
// since. Where no change before seq is left of a log that begins later, those of
// the checkpoint hold.
func (r *rewindRecord) rulesBefore(ctx context.Context, seq uint64) (json.RawMessage, error) {
	past, err := r.rules(ctx)
	if err != nil {
		return nil, err
	}
	first, _, err := r.log.InputBounds(ctx)
	if raw := past.Before(seq).Raw; raw != nil || first <= 1 {
		return raw, err
	}
	return r.checkpoint.Rules, err
}

// firstNew returns the sequence of the first input that was stored after the log was
// rewound. It lies behind the last input that is known to be the same and not behind
// one that is known to be lost, and it is younger than that one was.
func (r *rewindRecord) firstNew(ctx context.Context, known []evidence) (uint64, error) {
	_, last, err := r.log.InputBounds(ctx)
	if err != nil {
		return 0, err
	}
	same, lost, err := r.divide(ctx, known, last)
	if err != nil {
		return 0, err
	}
	if len(lost) == 0 { // the answers changed meanwhile
		return 0, fmt.Errorf("worker: partition %d: the input log is being rewound", r.partition)
	}
	first, since := last+1, lost[0].when()
	for i := range lost {
		seq, _ := r.rewinds.Stored(lost[i].n) // divide has none that are not
		first = min(first, seq)
		if t := lost[i].when(); t.Before(since) {
			since = t
		}
	}
	younger, err := r.log.InputAfter(ctx, since)
	return max(min(first, younger), same+1), err
}

// divide returns the sequence of the last input of known that the log, which ends at
// last, still has, 0 if there is none, and what is known of lost inputs behind it. All
// inputs before one that is the same are the same, whatever other evidence shows: that
// of a session which was not loaded since an earlier rewind can be of an input that this
// one lost. Inputs behind the result are folded again, so it must not be too low.
func (r *rewindRecord) divide(ctx context.Context, known []evidence, last uint64) (same uint64, lost []evidence, err error) {
	for _, e := range slices.Backward(known) {
		seq, ok := r.rewinds.Stored(e.n)
		if !ok || seq <= last && !e.conclusive() {
			continue
		}
		if seq <= last {
			good, err := r.has(ctx, &e)
			if err != nil || good {
				return seq, lost, err
			}
		}
		lost = append(lost, e)
	}
	return 0, lost, nil
}

// topFolded returns the highest number under which an input was folded. The
// events of lost inputs were stored after the last input that is not lost.
func (r *rewindRecord) topFolded(ctx context.Context, known []evidence, since time.Time) (uint64, error) {
	if !since.IsZero() {
		since = since.Add(-time.Minute)
	}
	id, err := r.all.TopEvent(ctx, r.partition, since)
	return max(id.Seq, known[len(known)-1].n), err
}

// rewindRecord returns a record that is not written yet.
func (q *partition) rewindRecord(from uint64) rewindRecord {
	r := rewindRecord{
		inputCheck: q.inputCheck(), all: q.log, partition: q.p,
		checkpoint: q.checkpoint.stored, rev: q.checkpoint.rev, from: from,
	}
	r.rules = func(ctx context.Context) (*session.RulesLog, error) { return readRules(ctx, q.log, q.p) }
	return r
}

// rewound takes a rewind that was recorded.
func (q *partition) rewound(r *rewindRecord) error {
	q.checkpoint.stored, q.checkpoint.rev = r.checkpoint, r.rev
	q.history.rewinds, q.history.genuine = r.checkpoint.Rewinds, 0
	q.history.past.forget()
	q.sessions.compressed.clear()
	q.sessions.places.clear()
	if r.lower {
		if err := q.rules.Begin(r.checkpoint.Rules); err != nil {
			return err
		}
	}
	q.status.rewinds.Add(1)
	last := r.checkpoint.Rewinds[len(r.checkpoint.Rewinds)-1]
	q.logger.Warn().Uint64("seq", last.From).Uint64("folded", r.top).Msg("the input log came back shorter than what was folded of it; inputs stored since are numbered behind that")
	return nil
}

// rewindIfFound begins to record a rewind that a load found. A checkpoint that is
// being written would conflict with that.
func (q *partition) rewindIfFound(ctx context.Context) error {
	h := &q.history
	if h.found == nil || h.recording || q.checkpoint.writing {
		return nil
	}
	h.recording = true
	r := q.rewindRecord(q.reading.pos)
	r.waiting, r.behind = h.found.loading.pos, h.found.loading.behind()
	known := []evidence{h.found.evidence}
	q.chores.start(ctx, func(ctx context.Context) completion {
		err := r.write(ctx, known)
		return &rewindWritten{r, err}
	})
	return nil
}

// rewindWritten is the outcome of recording a rewind that a load found.
type rewindWritten struct {
	record rewindRecord
	err    error
}

func (w *rewindWritten) apply(ctx context.Context, q *partition) error {
	found := q.history.found
	q.history.found, q.history.recording = nil, false
	if w.err != nil {
		return w.err
	}
	if err := q.rewound(&w.record); err != nil {
		return err
	}
	rewinds := q.history.rewinds
	for _, l := range q.loads.of {
		switch {
		case l == found.loading:
			l.renumber(rewinds, w.record.waiting)
		case l.rewinds != nil:
			l.rewinds = append(l.rewinds, rewinds[len(rewinds)-1])
		}
	}
	return q.proceed(ctx)
}

// survey collects what shows which inputs were folded. An operation has a copy of
// its own.
type survey struct {
	worker     *Worker
	partition  int
	checkpoint broker.Checkpoint
	rewinds    broker.Rewinds
}

func (q *partition) survey() survey {
	return survey{q.w, q.p, q.checkpoint.stored, q.history.rewinds}
}

// folded returns the inputs that checkpoint, snapshots and recent events show
// to have been folded, in order.
func (v survey) folded(ctx context.Context, stored []listed) ([]evidence, error) {
	var known []evidence
	if r := v.checkpoint.Read; r.Seq > 0 {
		known = append(known, evidence{n: v.rewinds.Effective(r.Seq), at: r.At})
	}
	if below := v.checkpoint.Seq - 1; below > v.checkpoint.Read.Seq {
		known = append(known, evidence{n: v.rewinds.Effective(below), until: time.Unix(1<<40, 0)})
	}
	for _, r := range v.rewinds {
		if r.From > 1 && !r.Before.IsZero() {
			known = append(known, evidence{n: v.rewinds.Effective(r.From - 1), at: r.Before})
		}
	}
	for i := range stored {
		if s := &stored[i]; s.n > 0 && !s.at.IsZero() {
			known = append(known, evidence{n: s.n, token: s.token, at: s.at})
		}
	}
	recent, err := v.worker.recentEvents(ctx, v.partition)
	if err != nil {
		return nil, err
	}
	if recent.Seq > 0 {
		known = append(known, eventEvidence(&recent))
	}
	// What a rewind that is recorded lost shows nothing of the log as it is.
	known = slices.DeleteFunc(known, func(e evidence) bool { _, ok := v.rewinds.Stored(e.n); return !ok })
	slices.SortStableFunc(known, byNumber)
	return known, nil
}

func byNumber(a, b evidence) int { return cmp.Compare(a.n, b.n) }

// recentWindow is the age of the newest events that are checked for inputs that
// the log lost: longer than a server keeps anything unsynced.
const recentWindow = lossWindow

// recentEvents returns the event of a partition with the highest id among those
// stored last, zero if there is none. Partitions that are taken over together
// share one reading.
func (w *Worker) recentEvents(ctx context.Context, p int) (events.Record, error) {
	epoch := w.Log.Epoch()
	usable := func(r *reading[map[int]events.Record]) bool {
		return r.epoch == epoch && time.Since(r.began) <= recentWindow
	}
	tops, err := w.recent.get(ctx, epoch, usable, func(ctx context.Context) (map[int]events.Record, error) {
		return w.Log.RecentEvents(ctx, recentWindow)
	})
	return tops[p], err
}
