package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/rewind"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// Recover closes the open items of a loss: each call as lost, each run as failed.
// It writes a snapshot of each session, in which the unfinished messages are
// muted, and moves the checkpoint to the first input of the log. The partition
// must have stopped in all workers. A call that was interrupted can be repeated.
func Recover(ctx context.Context, log Log, loss Loss) error {
	m, rev, err := log.LoadCheckpoint(ctx, loss.Partition)
	if err != nil {
		return err
	}
	rules, err := rulesAt(m)
	if err != nil {
		return err
	}
	r := recovery{log: log, loss: loss, rules: rules}
	for i := range loss.Sessions {
		if err := r.session(ctx, &loss.Sessions[i]); err != nil {
			return fmt.Errorf("audit: recovering session %s: %w", loss.Sessions[i].Token, err)
		}
	}
	if loss.First == 0 {
		return nil
	}
	if err := r.outdatedSessions(ctx); err != nil {
		return err
	}
	m.Seq = loss.First
	if _, err := log.WriteCheckpoint(ctx, loss.Partition, m, rev); err != nil {
		return fmt.Errorf("audit: moving the checkpoint of partition %d: %w", loss.Partition, err)
	}
	return nil
}

// rulesAt returns the rules in force at a checkpoint, the defaults where there
// are none that can be read.
func rulesAt(m broker.Checkpoint) (*session.Rules, error) {
	rules, err := session.ParseRules(m.Rules)
	if errors.Is(err, session.ErrVersion) {
		return nil, err
	}
	if err != nil {
		d := session.DefaultRules()
		return &d, nil
	}
	return rules, nil
}

type recovery struct {
	log   Log
	loss  Loss
	rules *session.Rules
}

func (r *recovery) session(ctx context.Context, s *LostSession) error {
	state, rev, err := r.loadState(ctx, s.Token)
	if err != nil {
		return err
	}
	prev, last, err := r.log.Head(ctx, s.Token)
	if err != nil {
		return err
	}
	// The events take the place of those of the last lost input.
	next := eventAfter(last.ID, max(r.loss.First, 1)-1)
	name, err := events.ParseToken(s.Token)
	if err != nil {
		name = s.Token
	}
	out := session.Recover(nil, state, session.Recovery{Session: name, Next: next, Open: s.Open, Rules: r.rules})
	for i := range out {
		if prev, err = r.publish(ctx, s.Token, &out[i], prev); err != nil {
			return err
		}
	}
	head := last.ID
	if n := len(out); n > 0 {
		head = out[n-1].EventID
	}
	h := snapshot.Header{Input: state.N, Head: head, HeadSeq: prev, Open: state.Life.Open()}
	return r.writeSnapshot(ctx, s.Token, rev, state, &h)
}

func (r *recovery) publish(ctx context.Context, token string, e *events.Event, prev uint64) (uint64, error) {
	body, err := e.Body()
	if err != nil {
		return 0, err
	}
	a := r.log.PublishWait(ctx, r.log.EventPub(token, e, body, nil, prev))
	if errors.Is(a.Err, broker.ErrConflict) {
		return 0, fmt.Errorf("another process appends to its event log: stop the workers first: %w", a.Err)
	}
	return a.Seq, a.Err
}

// eventAfter returns the first free event id of input seq or of a later one.
func eventAfter(last events.ID, seq uint64) events.ID {
	if last.Seq >= seq {
		return events.ID{Seq: last.Seq, N: last.N + 1}
	}
	return events.ID{Seq: seq}
}

// loadState returns the state of a session's snapshot and the revision of the
// snapshot. Where there is none that can be read, the state is the zero value.
func (r *recovery) loadState(ctx context.Context, token string) (*session.State, uint64, error) {
	saved, ok, err := r.log.LoadSnapshot(ctx, r.loss.Partition, token)
	if errors.Is(err, broker.ErrDamaged) {
		return new(session.State), saved.Rev, nil
	}
	if err != nil || !ok {
		return new(session.State), saved.Rev, err
	}
	state, err := snapshot.Load(saved.Data)
	if err != nil {
		return new(session.State), saved.Rev, nil //nolint:nilerr // because a snapshot of the recovered state replaces it
	}
	return state, saved.Rev, nil
}

func (r *recovery) writeSnapshot(ctx context.Context, token string, rev uint64, state *session.State, h *snapshot.Header) error {
	data, err := new(snapshot.Encoder).Encode(state)
	if err != nil {
		return fmt.Errorf("its snapshot: %w", err)
	}
	pub, blobs := r.log.SnapshotPub(r.loss.Partition, token, rev, h.Map(), data)
	for _, b := range append(blobs, pub) {
		if a := r.log.PublishWait(ctx, b); a.Err != nil {
			return a.Err
		}
	}
	return nil
}

// outdatedSessions recovers the sessions whose snapshots have items that the event
// log does not show as open: held text, and events that were never appended.
func (r *recovery) outdatedSessions(ctx context.Context) error {
	recovered := map[string]bool{}
	for i := range r.loss.Sessions {
		recovered[r.loss.Sessions[i].Token] = true
	}
	var tokens []string
	_, err := r.log.ListSnapshots(ctx, r.loss.Partition, func(token string, _ uint64, header map[string]string, _ time.Time) error {
		h := snapshot.ParseHeader(header)
		if h.Input < r.loss.First && !recovered[token] && h.Timer != 0 {
			tokens = append(tokens, token)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, token := range tokens {
		if err := r.session(ctx, &LostSession{Token: token}); err != nil {
			return fmt.Errorf("audit: recovering session %s: %w", token, err)
		}
	}
	return nil
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
func Losses(ctx context.Context, log Log, progress func(Progress)) ([]Loss, error) {
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
func lostPartitions(ctx context.Context, log Log) (losses []Loss, held map[string]bool, err error) {
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
func openSessions(ctx context.Context, log Log, progress func(Progress)) ([]LostSession, error) {
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

// Rewinds repairs the input log for each partition to which it came back shorter than
// what was folded, and calls fn with what was done. With dry it changes nothing, and
// calls fn with what it would do.
func Rewinds(ctx context.Context, log Log, dry bool, fn func(p int, r *rewind.Report)) error {
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
		of, err := evidence(ctx, log, p, m)
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

// evidence returns the inputs that checkpoint and snapshots show to have been folded.
func evidence(ctx context.Context, log Log, p int, m broker.Checkpoint) ([]rewind.Evidence, error) {
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
