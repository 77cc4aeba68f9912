package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/internal/snapshot"

	"golang.org/x/sync/errgroup"
)

// Bounds of the erasures of Retire: most of the time each waits for a snapshot.
const (
	retireAtOnce = 128
	retirePace   = 24 * time.Millisecond // between two that begin, so that inputs do not wait for them
)

// Retire erases the finished sessions of the partitions that the process carries for which due
// returns how long they are due, the longest idle first. due gets the time since their last
// snapshot. behind is called with the number of sessions that are left, and how long the next
// is due. Retire returns how many it erased, and continues with the others after an error.
func (b *Broker) Retire(ctx context.Context, carries func(partition int) bool, due func(session string, quiet time.Duration) (time.Duration, bool), behind func(left int, by time.Duration)) (int, error) {
	list, err := b.Sessions(ctx, math.MaxInt)
	begun, failed := b.Erasures(ctx)
	if err = errors.Join(err, failed); failed != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(s gateway.SessionInfo) bool {
		token, err := events.Token(s.Session)
		_, is := due(s.Session, time.Since(s.Last))
		return err != nil || !is || s.Open > 0 || begun[token] || !carries(b.Partition(token))
	})
	slices.Reverse(list)
	var all erasures
	group := errgroup.Group{}
	group.SetLimit(retireAtOnce)
	for i, s := range list {
		by, _ := due(s.Session, time.Since(s.Last))
		behind(len(list)-i, by)
		if b.Pause(ctx, retirePace) != nil {
			break
		}
		group.Go(func() error {
			token, _ := events.Token(s.Session) // is valid
			e := &erasure{Broker: b, token: token, keep: unreferencedFor}
			all.add(e, e.retire(ctx, s.Last))
			return nil
		})
	}
	_ = group.Wait() // the errors are those of all
	behind(0, 0)
	all.err = errors.Join(err, all.err)
	return all.complete(ctx)
}

// Resume completes the erasures, of the partitions that the process carries, that began before
// a time and are not complete. It returns how many it completed, and continues with the
// others after an error.
func (b *Broker) Resume(ctx context.Context, carries func(partition int) bool, before time.Time) (int, error) {
	list, err := b.Erasures(ctx)
	if err != nil {
		return 0, err
	}
	var all erasures
	group := errgroup.Group{}
	group.SetLimit(retireAtOnce)
	for _, token := range slices.Sorted(maps.Keys(list)) {
		if !carries(b.Partition(token)) {
			continue
		}
		group.Go(func() error {
			e := &erasure{Broker: b, token: token, keep: unreferencedFor}
			all.add(e, e.resume(ctx, before))
			return nil
		})
	}
	_ = group.Wait() // the errors are those of all
	return all.complete(ctx)
}

// erasures are several, whose large values are deleted together.
type erasures struct {
	mu   sync.Mutex
	list []*erasure
	err  error
}

func (all *erasures) add(e *erasure, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	switch {
	case err != nil && !errors.Is(err, gateway.ErrHeld):
		all.err = errors.Join(all.err, fmt.Errorf("session %s: %w", e.token, err))
	case err == nil && e.event > 0:
		all.list = append(all.list, e)
	}
}

// complete deletes the large values, and returns the number of the erasures that are
// complete.
func (all *erasures) complete(ctx context.Context) (int, error) {
	if len(all.list) == 0 {
		return 0, all.err
	}
	last := slices.MaxFunc(all.list, func(a, b *erasure) int { return a.saved.Compare(b.saved) })
	if err := last.eraseChunks(ctx); err != nil {
		return 0, errors.Join(all.err, err)
	}
	for _, e := range all.list {
		all.err = errors.Join(all.err, e.EndErasure(ctx, e.record))
	}
	return len(all.list), all.err
}

// resume continues an erasure that has begun, but for its large values. One whose input was
// not stored changed nothing, and is not begun anew: what is stored by now may be newer.
func (e *erasure) resume(ctx context.Context, before time.Time) (err error) {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	var ok bool
	if e.record, ok, err = e.Erasure(ctx, e.token); err != nil || !ok || !e.record.At.Before(before) {
		return err
	}
	r, err := e.LastOf(ctx, e.token, events.SessionErased)
	if err != nil {
		return err
	}
	if r.ID.Seq > e.record.After {
		e.seq = r.ID.Seq
	}
	err = e.SessionInputs(ctx, e.token, max(e.record.After, r.ID.Seq)+1, func(in *inputs.Input) error {
		if in.Kind == inputs.Erase {
			e.seq = in.Seq
		}
		return nil
	})
	if err != nil {
		return err
	}
	if e.seq == 0 {
		return e.EndErasure(ctx, e.record)
	}
	if err := e.await(ctx); err != nil {
		return err
	}
	return e.purge(ctx)
}

// retire erases a session, but for its large values, if it is finished: it has no open run,
// and nothing since its snapshot, which was stored at a time.
func (e *erasure) retire(ctx context.Context, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	s, ok, err := e.LoadSnapshot(ctx, e.Partition(e.token), e.token)
	if err != nil || !ok || !s.At.Equal(at) {
		return err
	}
	if last, err := e.LastInput(ctx, e.token); err != nil || last > snapshot.ParseHeader(s.Header).Input {
		return err
	}
	started, err := e.LastOf(ctx, e.token, events.RunStarted)
	if err != nil {
		return err
	}
	if ended, err := e.LastOf(ctx, e.token, events.RunFinished); err != nil || ended.Seq < started.Seq {
		return err
	}
	return e.remove(ctx)
}
