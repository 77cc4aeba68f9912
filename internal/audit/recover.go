package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// Recover closes the open items of a loss: each call as lost, each run as failed.
// It writes a snapshot of each session, in which the unfinished messages are
// muted, and moves the checkpoint to the first input of the log. The partition
// must have stopped in all workers. A call that was interrupted can be repeated.
func Recover(ctx context.Context, log RecoverLog, loss Loss) error {
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
	log   RecoverLog
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
