package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// Keys of the headers of a saved state.
const (
	// HeaderOpen is how many calls of the session are open; absent if none.
	HeaderOpen   = "Open"
	headerInput  = "Input"  // number of the last input folded
	headerAt     = "At"     // when that was stored, Unix nanoseconds
	headerWake   = "Wake"   // when the session's next alarm is due, Unix milliseconds
	headerUnsent = "Unsent" // how many events are not stored yet
	headerChain  = "Chain"  // id of the chain's last event
	// headerRewinds is the partition's broker.Rewinds; absent if none. They are
	// in the checkpoint too, which can be lost.
	headerRewinds = "Rewinds"
)

// save is the saving of a session that is under way: first its blobs.
type save struct {
	session *live
	pub     *broker.Pub
	blobs   int
	bytes   int
	n       uint64 // the state is the one after this input
	unsent  bool   // with events that are not stored yet
}

// A partition that is saveLate behind, as after an outage, waits saveBehind
// times SaveEvery: saves are what it can do without then, and a state that is
// saved is soon old.
const (
	saveLate   = 5 * time.Second
	saveBehind = 4
	// saveUnsent is how many times SaveEvery a snapshot is put off for events that
	// are not stored yet.
	saveUnsent = 7
)

// save begins to save the sessions that changed SaveEvery ago.
func (q *partition) save(now time.Time) {
	age := q.opts.SaveEvery
	if !q.caughtUp && now.Sub(q.read.Std()) > saveLate {
		age *= saveBehind
	}
	q.saveOlder(now.Add(-age), now)
}

// saveAll begins to save every session that changed, and tells whether some are
// left for want of room.
func (q *partition) saveAll(now time.Time) (left bool) { return q.saveOlder(now, now) }

// maxSaving bounds the bytes of snapshots of a partition that are being written:
// after a burst all sessions change at once, and each snapshot is held until it
// is acknowledged. Each counts savingCost bytes besides its own.
const (
	maxSaving  = 1 << 20
	savingCost = 1 << 10 // headers and bookkeeping
)

func (q *partition) saveOlder(than, now time.Time) (left bool) {
	for _, l := range q.live {
		if !l.dirty() || l.save != nil || l.since.After(than) || l.fresh {
			continue
		}
		if len(l.queue) > 0 && than.Before(now) && l.since.After(than.Add(-saveUnsent*q.opts.SaveEvery)) {
			continue // when its events are stored, one snapshot is enough
		}
		if q.savingBytes >= maxSaving {
			return true
		}
		q.saveSession(l, now)
	}
	return false
}

// saveOver notes that a save is over, however it ended.
func (q *partition) saveOver(s *save) {
	q.saving--
	q.savingBytes -= s.bytes
	s.session.save = nil
}

func (q *partition) saveSession(l *live, now time.Time) {
	q.trim(l, now)
	l.since = now
	s := &save{session: l, n: l.state.N, unsent: len(l.queue) > 0}
	data, err := l.snapshot(&q.snapshots)
	if err != nil {
		q.z.Error().Err(err).Str("session", l.token).Msg("state cannot be saved")
		return
	}
	var blobs []*broker.Pub
	alarm, set := l.state.Timer(q.rules.inForce())
	header := l.header(alarm, set)
	if len(q.rewinds) > 0 {
		rewinds, _ := json.Marshal(q.rewinds) // numbers and times: cannot fail
		header[headerRewinds] = string(rewinds)
	}
	s.pub, blobs = q.log.SavePub(q.p, l.token, l.rev, header, data)
	s.pub.Key, s.pub.Epoch = s, q.log.Epoch()
	l.save, l.second, s.blobs, s.bytes = s, 0, len(blobs), len(data)+savingCost
	q.saving++
	q.savingBytes += s.bytes
	for _, b := range blobs {
		b.Key = s
		q.publish(b)
	}
	if s.blobs == 0 {
		q.publish(s.pub)
	}
}

// snapshot returns the stored form of the session as it is now.
func (l *live) snapshot(e *snapshotEncoder) ([]byte, error) {
	state, err := l.state.Marshal()
	if err != nil {
		return nil, err
	}
	r := record{State: state, Chain: point{l.chain, l.id}, Base: l.base}
	r.Events = make([]outgoing, 0, len(l.acked)+len(l.queue))
	r.Events = append(r.Events, l.acked...)
	for _, o := range l.queue {
		r.Events = append(r.Events, *o)
	}
	data, err := e.encode(&r)
	if err != nil {
		return nil, fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	return data, nil
}

// saved takes the outcome of saving, or of storing a piece of a large state.
func (q *partition) saved(ctx context.Context, s *save, a broker.Ack) error {
	l := s.session
	if l.gone || l.save != s {
		return nil
	}
	if a.Pub != s.pub {
		if a.Err != nil {
			return fmt.Errorf("worker: session %q: storing its state: %w", l.token, a.Err)
		}
		if s.blobs--; s.blobs == 0 {
			q.publish(s.pub)
		}
		return nil
	}
	q.saveOver(s)
	switch {
	case a.Err == nil:
		q.m.saves.Add(1)
		l.rev, l.unsent = a.Seq, s.unsent
		l.first, l.second = l.second, 0
		return nil
	case errors.Is(a.Err, broker.ErrConflict):
		q.m.resaves.Add(1)
		return q.contested(ctx, l, s)
	}
	return fmt.Errorf("worker: session %q: saving its state: %w", l.token, a.Err)
}

// contested settles that somebody else saved the session, or that a try of
// ours did whose ack was lost. The newer state stands.
func (q *partition) contested(ctx context.Context, l *live, s *save) error {
	stored, ok, err := q.log.LoadState(ctx, q.p, l.token)
	if errors.Is(err, broker.ErrDamaged) {
		q.overwritten(l.token, err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	if !ok {
		l.rev = stored.Rev // deleted or damaged: ours takes its place
		return nil
	}
	if _, held := stored.Header[headerHeld]; held || l.fresh {
		return q.conflicted(ctx, l)
	}
	n, err := strconv.ParseUint(stored.Header[headerInput], 10, 64)
	if err != nil { // damaged: ours replaces it
		q.overwritten(l.token, fmt.Errorf("header %s: %w", headerInput, err))
	}
	switch {
	case n > l.state.N:
		q.drop(l)
		if _, err = q.load(ctx, l.token); errors.Is(err, errHeld) {
			return nil
		}
		return err
	case n >= s.n:
		l.rev, l.unsent = stored.Rev, stored.Header[headerUnsent] != ""
		l.first, l.second = l.second, 0
	default:
		l.rev = stored.Rev // ours is newer: the next save replaces it
	}
	return nil
}

// markAck is the outcome of saving the mark.
type markAck struct {
	mark broker.Mark
	rev  uint64
	err  error
}

// advance moves the mark to the first input that no saved state covers, or whose
// events are not all stored. It is written after the saves it relies on, and is
// only a lower bound.
func (q *partition) advance(ctx context.Context) {
	if q.marking || q.epoch != q.log.Epoch() { // in another one the log may have been rewound
		return
	}
	seq := q.pos
	for _, l := range q.live {
		if l.first != 0 {
			seq = min(seq, l.first)
		}
		if n, ok := q.unsent(l); ok {
			seq = min(seq, n)
		}
	}
	for _, h := range q.held {
		if h.first != 0 {
			seq = min(seq, h.first)
		}
	}
	if seq <= q.mark.Seq {
		return
	}
	m := broker.Mark{Seq: seq, Rules: q.rules.at(seq), Read: q.last, Rewinds: q.rewinds}
	q.marking = true
	rev, epoch := q.rev, q.epoch
	q.tasks.Go(func() {
		m, newRev, err := q.saveMark(ctx, m, rev, epoch)
		q.marked <- markAck{m, newRev, err}
	})
}

// unsent returns the input whose events are appended next. The mark does not pass
// it: were the snapshot lost that holds them, nothing would show that they are
// missing. Events that the server refuses for good do not hold the mark.
func (q *partition) unsent(l *live) (seq uint64, ok bool) {
	if l.stuck {
		return 0, false
	}
	for _, o := range l.queue {
		if seq, ok = q.rewinds.Stored(o.ID.Seq); ok {
			return seq, true
		}
	}
	return 0, false
}

// errNewEpoch is returned for a checkpoint that is not written because the
// connection was lost meanwhile.
var errNewEpoch = errors.New("worker: the connection was lost before the checkpoint was written")

// saveMark writes a mark. Where it is behind all that was folded, because other
// partitions have the inputs before it, it identifies the last of those. Read in
// a later epoch, that could be an input that took its place after a rewind.
func (q *partition) saveMark(ctx context.Context, m broker.Mark, rev, epoch uint64) (broker.Mark, uint64, error) {
	if below := m.Seq - 1; below > m.Read.Seq {
		in, ok, err := q.log.Input(ctx, below)
		if err != nil {
			return m, 0, err
		}
		if q.log.Epoch() != epoch {
			return m, 0, errNewEpoch
		}
		if ok {
			m.Read = broker.Witness{Seq: below, At: in.At}
		}
	}
	newRev, err := q.log.SaveMark(ctx, q.p, m, rev)
	return m, newRev, err
}

func (q *partition) markSaved(m markAck) error {
	q.marking = false
	switch {
	case m.err == nil:
		q.mark, q.rev = m.mark, m.rev
		q.rules.forget(m.mark.Seq)
	case errors.Is(m.err, broker.ErrConflict), errors.Is(m.err, broker.ErrBackwards):
		// Another worker moved it. Ours is a lower bound as well; take its
		// revision and go on.
		ctx, cancel := context.WithTimeout(context.Background(), settleTime)
		defer cancel()
		theirs, rev, err := q.log.LoadMark(ctx, q.p)
		if errors.Is(err, broker.ErrDamaged) {
			q.rev = rev // the next one takes its place
			return nil
		}
		if err != nil {
			return err
		}
		if !theirs.Rewinds.Equal(q.rewinds) {
			return errRewinds
		}
		q.mark.Seq, q.rev = theirs.Seq, rev
	case errors.Is(m.err, context.Canceled), errors.Is(m.err, errNewEpoch):
	default:
		return fmt.Errorf("worker: moving the mark of partition %d: %w", q.p, m.err)
	}
	return nil
}

// listed is what a listing says of a saved session.
type listed struct {
	token string
	n     uint64    // of the last input folded
	at    time.Time // when that was stored
	saved time.Time
	chain events.ID
	wake  events.Time
	open  int    // calls
	held  string // why the session is held, "" if it is not
	// lacking: its chain lacks events that the saved state holds, unsent ones
	// or such as the event log lost; or it has later ones than the state.
	lacking bool
}

// listing is all saved sessions of a partition, and of these the ones with
// something open or lacking.
type listing struct {
	saved, open []listed
	whole       bool           // no snapshot is newer than those it has
	rewinds     broker.Rewinds // the newest that are recorded
}

// list reads the sessions of the partition that have something open, since a
// listing can be stale and another worker may have saved meanwhile.
func (q *partition) list(ctx context.Context) {
	l, err := q.listSnapshots(ctx)
	if err == nil {
		l.open, err = q.open(ctx, l.saved)
	}
	if err != nil {
		if ctx.Err() == nil {
			q.z.Warn().Err(err).Msg("saved states cannot be listed")
		}
		return
	}
	select {
	case q.lists <- l:
	case <-ctx.Done():
	}
}

// listSnapshots lists the saved sessions.
func (q *partition) listSnapshots(ctx context.Context) (l listing, err error) {
	last, err := q.log.LastState(ctx, q.p)
	if err != nil {
		return l, err
	}
	var top uint64
	err = q.log.ListStates(ctx, q.p, func(token string, rev uint64, header map[string]string, at time.Time) error {
		top = max(top, rev)
		s := listed{token: token, saved: at, at: savedAt(header), held: header[headerHeld], lacking: header[headerUnsent] != ""}
		s.n, _ = strconv.ParseUint(header[headerInput], 10, 64) // zero where absent
		s.chain, _ = events.ParseID(header[headerChain])        // likewise
		wake, _ := strconv.ParseInt(header[headerWake], 10, 64) // likewise
		s.wake = events.Time(wake)
		s.open, _ = strconv.Atoi(header[HeaderOpen]) // likewise
		l.saved = append(l.saved, s)
		var rewinds broker.Rewinds
		if text := header[headerRewinds]; text != "" && json.Unmarshal([]byte(text), &rewinds) == nil && rewinds.Newer(l.rewinds) {
			l.rewinds = rewinds
		}
		return nil
	})
	l.whole = top >= last
	return l, err
}

// lossWindow is how long before the newest saved state others were saved whose
// last events a power loss may have taken: longer than a server keeps anything
// unsynced.
const lossWindow = 5 * time.Second

// open returns the saved sessions with something open or lacking.
func (q *partition) open(ctx context.Context, saved []listed) (open []listed, err error) {
	var newest time.Time
	for i := range saved {
		if saved[i].saved.After(newest) {
			newest = saved[i].saved
		}
	}
	fails := make([]error, len(saved))
	together(len(saved), q.atOnce, func(i int) {
		s := &saved[i]
		if s.lacking || s.chain == (events.ID{}) || newest.Sub(s.saved) > lossWindow {
			return
		}
		var last broker.Stored
		if _, last, fails[i] = q.log.ChainLast(ctx, s.token); fails[i] == nil {
			s.lacking = s.chain.After(last.ID)
		}
	})
	for i, s := range saved {
		if fails[i] != nil {
			return nil, fails[i]
		}
		if s.lacking || s.wake != 0 || s.held != "" {
			open = append(open, s)
		}
	}
	return open, nil
}

// listed sets the alarms of sessions that are not in memory, and loads those
// with events to send.
func (q *partition) listed(ctx context.Context, all listing) error {
	defer q.forgetCold()
	q.known.whole = all.whole
	for i := range all.saved {
		q.known.add(all.saved[i].token)
	}
	list := all.open
	for i, s := range list {
		if s.held != "" {
			if q.held[s.token] == nil && q.live[s.token] == nil {
				q.held[s.token] = &held{reason: s.held}
				q.reportHeld()
			}
			continue
		}
		if l := q.live[s.token]; l != nil {
			if err := q.mendTail(ctx, l, s); err != nil {
				return err
			}
			continue
		}
		if s.lacking {
			q.prefetch(ctx, lackingOf(list[i:]))
			l, err := q.load(ctx, s.token)
			if errors.Is(err, errHeld) {
				continue
			}
			if err != nil {
				return err
			}
			if len(l.queue) == 0 && l.save == nil {
				// It lacks nothing any more: unless that is saved, every
				// listing would load it again.
				q.saveSession(l, time.Now())
			}
			continue
		}
		q.alarms.sooner(s.token, s.wake) // a listing can be stale
		if s.open > 0 {
			q.asleep[s.token] = s.open
		}
	}
	return nil
}

// lackingOf gives the sessions whose chains lack something.
func lackingOf(list []listed) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range list {
			if s.lacking && !yield(s.token) {
				return
			}
		}
	}
}

// mendTail appends again what the log lost of a session in memory that has
// nothing under way: with something under way, the conflict tells.
func (q *partition) mendTail(ctx context.Context, l *live, s listed) error {
	if !s.lacking || len(l.queue) > 0 {
		return nil
	}
	if err := q.adopt(ctx, l); err != nil {
		return err
	}
	q.send(l)
	return nil
}
