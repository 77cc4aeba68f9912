package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"streamer/internal/broker"
)

// evidence is an input that was folded, as far as what was stored afterwards
// identifies it.
type evidence struct {
	n     uint64    // number under which it was folded
	token string    // of its session; "" if not known
	at    time.Time // when it was stored; zero if not known
	until time.Time // where at is zero: it was stored then or earlier
}

// when returns the latest time at which the input can have been stored.
func (e *evidence) when() time.Time {
	if e.at.IsZero() {
		return e.until
	}
	return e.at
}

// eventEvidence is what an event says of its input: it was stored when the event
// says, or earlier, as an event's time never goes back. Where only the headers
// were read, the time at which the event was stored has to do.
func eventEvidence(s *broker.Stored) evidence {
	var body struct {
		At time.Time `json:"timestamp"`
	}
	e := evidence{n: s.ID.Seq, token: s.Token, until: s.At}
	if err := json.Unmarshal(s.Data, &body); err == nil && !body.At.IsZero() {
		e.until = body.At.Add(time.Millisecond - 1) // it is cut to milliseconds
	}
	return e
}

// rewindMargin is how far behind all that was found folded the inputs of a
// rewound log are numbered: what other workers had under way counts as folded.
const rewindMargin = 1 << 16

// unrewound reports whether the input log still has an input that was folded.
// All inputs before it are then the same as well.
func (q *partition) unrewound(ctx context.Context, e evidence) (good bool, err error) {
	if e.n <= q.genuine {
		return true, nil
	}
	err = q.believed(ctx, func() (bool, error) {
		good, err = q.stillHas(ctx, &e)
		return good, err
	})
	if good {
		q.genuine = e.n
	}
	return good, err
}

// stillHas asks the input log for an input. One that expired, was deleted, or
// was lost in a rewind that is recorded proves nothing.
func (q *partition) stillHas(ctx context.Context, e *evidence) (bool, error) {
	seq, ok := q.rewinds.Stored(e.n)
	if !ok {
		return true, nil
	}
	in, ok, err := q.log.Input(ctx, seq)
	if err != nil {
		return false, err
	}
	if !ok {
		_, last, err := q.log.InputBounds(ctx)
		if err != nil || seq > last {
			return false, err
		}
		// It was deleted, or one was stored there since it was asked for.
		if in, ok, err = q.log.Input(ctx, seq); err != nil {
			return false, err
		}
	}
	if !ok {
		return true, nil
	}
	switch {
	case e.token != "" && in.Token != e.token:
		return false, nil
	case !e.at.IsZero():
		return in.At.Equal(e.at), nil
	}
	return !in.At.After(e.until), nil
}

// recallRewinds takes the rewinds that snapshots record where the checkpoint
// lacks them, because it was lost. Without them the inputs stored since would
// be folded again, under other numbers.
func (q *partition) recallRewinds(ctx context.Context, recorded broker.Rewinds) (err error) {
	if !recorded.Newer(q.rewinds) {
		return nil
	}
	q.mark.Rewinds, q.rewinds = recorded, recorded
	if q.rev, err = q.log.SaveMark(ctx, q.p, q.mark, q.rev); err != nil {
		return fmt.Errorf("worker: recording the rewinds of partition %d again: %w", q.p, err)
	}
	return nil
}

// checkRewound compares the input log with the newest of what was made of it,
// and records a rewind where the log came back shorter.
func (q *partition) checkRewound(ctx context.Context, saved []listed) error {
	known, err := q.folded(ctx, saved)
	if err != nil || len(known) == 0 {
		return err
	}
	good, err := q.unrewound(ctx, known[len(known)-1])
	if err != nil || good {
		return err
	}
	return q.rewind(ctx, known, 0)
}

// folded returns the inputs that checkpoint, snapshots and recent events show
// to have been folded, in order.
func (q *partition) folded(ctx context.Context, saved []listed) ([]evidence, error) {
	var known []evidence
	if r := q.mark.Read; r.Seq > 0 {
		known = append(known, evidence{n: q.rewinds.Effective(r.Seq), at: r.At})
	}
	if below := q.mark.Seq - 1; below > q.mark.Read.Seq {
		known = append(known, evidence{n: q.rewinds.Effective(below), until: time.Unix(1<<40, 0)})
	}
	for _, r := range q.rewinds {
		if r.From > 1 && !r.Before.IsZero() {
			known = append(known, evidence{n: q.rewinds.Effective(r.From - 1), at: r.Before})
		}
	}
	for i := range saved {
		if s := &saved[i]; s.n > 0 && !s.at.IsZero() {
			known = append(known, evidence{n: s.n, token: s.token, at: s.at})
		}
	}
	recent, err := q.w.recentEvents(ctx, q.p)
	if err != nil {
		return nil, err
	}
	if recent.Seq > 0 {
		known = append(known, eventEvidence(&recent))
	}
	// What a rewind that is recorded lost says nothing of the log as it is.
	known = slices.DeleteFunc(known, func(e evidence) bool { _, ok := q.rewinds.Stored(e.n); return !ok })
	slices.SortStableFunc(known, func(a, b evidence) int { return cmp.Compare(a.n, b.n) })
	return known, nil
}

// rewind records that the input log came back shorter: of known, which is in
// order, the last is no longer there. Inputs stored since, but none before
// from, are numbered behind all that was folded.
func (q *partition) rewind(ctx context.Context, known []evidence, from uint64) error {
	first, err := q.firstNew(ctx, known)
	if err != nil {
		return err
	}
	first = max(first, from)
	before, _, err := q.log.Input(ctx, first-1)
	if err != nil {
		return err
	}
	top, err := q.topFolded(ctx, known, before.At)
	if err != nil {
		return err
	}
	m := q.mark
	m.Rewinds, m.Read = q.rewinds.Add(first, top+rewindMargin, before.At), broker.Witness{}
	lower := m.Seq > first
	if lower {
		m.Seq = first
		if m.Rules, err = q.rulesBefore(ctx, first); err != nil {
			return err
		}
	}
	rev, err := q.log.SaveMark(ctx, q.p, m, q.rev)
	if err != nil {
		return fmt.Errorf("worker: recording that the input log of partition %d was rewound: %w", q.p, err)
	}
	q.mark, q.rev, q.rewinds, q.genuine = m, rev, m.Rewinds, 0
	if lower {
		if err := q.rules.begin(m); err != nil {
			return err
		}
	}
	q.m.rewinds.Add(1)
	q.z.Warn().Uint64("seq", first).Uint64("folded", top).Msg("the input log came back shorter than what was folded of it; inputs stored since are numbered behind that")
	return nil
}

// rulesBefore returns the rules in force for the input seq, as the log has them
// now: a change of settings that it lost is not in force for inputs stored
// since. Where no change before seq is left of a log that begins later, those of
// the checkpoint hold.
func (q *partition) rulesBefore(ctx context.Context, seq uint64) (json.RawMessage, error) {
	q.past = nil
	past, err := q.pastRules(ctx)
	if err != nil {
		return nil, err
	}
	first, _, err := q.log.InputBounds(ctx)
	if raw := past.at(seq); raw != nil || first <= 1 {
		return raw, err
	}
	return q.mark.Rules, err
}

// firstNew returns the sequence of the first input that was stored after the
// log was rewound. It lies behind the last input that is known to be the same
// and not behind the first that is known to be another, and it is younger than
// that one was.
func (q *partition) firstNew(ctx context.Context, known []evidence) (uint64, error) {
	var failed error
	lost := sort.Search(len(known), func(i int) bool {
		if failed != nil {
			return true
		}
		good, err := q.stillHas(ctx, &known[i])
		failed = err
		return !good
	})
	_, last, err := q.log.InputBounds(ctx)
	if failed != nil || err != nil {
		return 0, errors.Join(failed, err)
	}
	if lost == len(known) { // the answers changed meanwhile
		return 0, fmt.Errorf("worker: partition %d: the input log is being rewound", q.p)
	}
	first, err := q.log.InputAfter(ctx, known[lost].when())
	if err != nil {
		return 0, err
	}
	if seq, ok := q.rewinds.Stored(known[lost].n); ok {
		first = min(first, seq)
	}
	if lost > 0 {
		if seq, ok := q.rewinds.Stored(known[lost-1].n); ok {
			first = max(first, seq+1)
		}
	}
	return min(first, last+1), nil
}

// topFolded returns the highest number under which an input was folded. The
// events of lost inputs were stored after the last input that is not lost.
func (q *partition) topFolded(ctx context.Context, known []evidence, since time.Time) (uint64, error) {
	if !since.IsZero() {
		since = since.Add(-time.Minute)
	}
	id, err := q.log.TopEvent(ctx, q.p, since)
	return max(id.Seq, known[len(known)-1].n), err
}

// sameLog returns an error where the partition has to begin again, because the
// input log was rewound or may have been. It is asked in each new connection
// epoch, before anything is folded in it.
func (q *partition) sameLog(ctx context.Context) error {
	epoch := q.log.Epoch()
	if epoch == q.epoch {
		return nil
	}
	m, _, err := q.log.LoadMark(ctx, q.p)
	if err != nil {
		return err
	}
	if !m.Rewinds.Equal(q.rewinds) {
		return errRewinds
	}
	q.genuine = 0
	known, err := q.folded(ctx, nil)
	if err != nil {
		return err
	}
	for _, l := range q.live {
		if l.id.Seq > l.state.N { // its events are ahead of what was read: load looks at that
			return errRewinds
		}
		if !l.at.IsZero() {
			known = append(known, evidence{n: l.state.N, token: l.token, at: l.at})
		}
	}
	if len(known) > 0 {
		top := slices.MaxFunc(known, func(a, b evidence) int { return cmp.Compare(a.n, b.n) })
		if same, err := q.unrewound(ctx, top); err != nil || !same {
			return cmp.Or(err, errRewinds)
		}
	}
	q.epoch = epoch
	return nil
}

var errRewinds = errors.New("worker: the input log may have been rewound")

// recentWindow is of how long the newest events are looked at for inputs that
// the log lost: longer than a server keeps anything unsynced.
const recentWindow = lossWindow

// recent is the newest event of each partition, as one reading of the end of
// the event log found it.
type recent struct {
	at    time.Time
	epoch uint64
	tops  map[int]broker.Stored
}

// recentEvents returns the event of a partition with the highest id among those
// stored last, zero if there is none. Partitions that are taken over together
// share one reading.
func (w *Worker) recentEvents(ctx context.Context, p int) (broker.Stored, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if r := &w.recent; r.tops == nil || r.epoch != w.Log.Epoch() || time.Since(r.at) > recentWindow {
		epoch := w.Log.Epoch()
		tops, err := w.Log.RecentEvents(ctx, recentWindow)
		if err != nil {
			return broker.Stored{}, err
		}
		*r = recent{time.Now(), epoch, tops}
	}
	return w.recent.tops[p], nil
}

// verify checks, where what was made of an input of a session is not behind the
// input that is read, that the log still has that input. If not, the log was
// rewound, and what is read counts from here on behind it.
func (q *partition) verify(ctx context.Context, e evidence) error {
	if e.n < q.rewinds.Effective(q.pos) {
		return nil
	}
	good, err := q.unrewound(ctx, e)
	if err != nil || good {
		return err
	}
	return q.rewind(ctx, []evidence{e}, q.pos)
}
