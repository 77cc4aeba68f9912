// Package worker carries inputs through the fold: it reads the input log,
// folds each session's inputs in order, appends the events that follow to the
// session's chain, saves states, and tells sessions the time by appending
// clock inputs.
//
// It promises that the event log of a session is the fold of its inputs, each
// event once and in order, whatever dies whenever, and however many workers
// carry the same partition: safety comes from the conditions in the log, never
// from who runs. One goroutine owns a partition and everything in it.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// Options are the settings of a worker.
type Options struct {
	// Rules this instance wants in force; if nil, those before the first rules
	// input.
	Rules *session.Rules
	// SaveEvery is how long after a change a session's state is saved, at the
	// earliest; an eighth of it later at the latest. If zero, 1 s.
	SaveEvery time.Duration
	// EvictAfter is how long a session that is saved stays in memory without
	// input. If zero, 1 min.
	EvictAfter time.Duration
	// MaxResident is the number of sessions beyond which those that are saved and
	// had no input for KeepAcked leave memory at once. If zero, 20,000.
	MaxResident int
	// KeepAcked is how long an acknowledged event is still saved with its
	// session's state: at least what a power loss can take from the server. If
	// zero, 2 s.
	KeepAcked time.Duration
	// MaxQueued bounds the bytes of events of a partition that are not stored
	// yet; no input is read while there are more. If zero, 2 MiB.
	MaxQueued int
	// Grace bounds how long after an outage of the log deadlines that passed
	// meanwhile are left to results that could not be published; as long as the
	// outage lasted if that is less. If zero, 10 s; if negative, not at all.
	Grace time.Duration
	// LookAgain is how often a partition that stopped, or has sessions that are
	// held, looks whether an operator has recovered it. If zero, 10 s.
	LookAgain time.Duration
	// Nonce makes message ids of this instance unique. Required.
	Nonce string
}

func (o Options) withDefaults() Options {
	if o.Rules == nil {
		r := session.DefaultRules()
		o.Rules = &r
	}
	if o.SaveEvery <= 0 {
		o.SaveEvery = time.Second
	}
	if o.EvictAfter <= 0 {
		o.EvictAfter = time.Minute
	}
	if o.MaxResident <= 0 {
		o.MaxResident = 20_000
	}
	if o.KeepAcked <= 0 {
		o.KeepAcked = 2 * time.Second
	}
	if o.MaxQueued <= 0 {
		o.MaxQueued = 2 << 20
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.LookAgain <= 0 {
		o.LookAgain = 10 * time.Second
	}
	return o
}

// ErrLost says that inputs expired before they were folded. Nothing closes the
// calls in them silently; an operator has to.
var ErrLost = errors.New("worker: inputs were lost before they were folded")

// ErrVersion says that a newer fold is in force than this program knows.
var ErrVersion = errors.New("worker: a newer fold version is in force than this program knows")

// Worker carries partitions. Log and Options.Nonce are required.
type Worker struct {
	Log     Log
	Options Options
	Logger  zerolog.Logger

	statuses statuses
	begun    atomic.Bool // its partitions are known

	// Partitions that are taken over together share these readings.
	recent    shared[map[int]events.Record]
	opened    shared[map[string]broker.Opened]
	takeovers atomic.Int32 // under way
}

// Run carries the given partitions until ctx ends, and returns when every
// goroutine that it started has ended. A partition that fails is started again
// from its checkpoint. One that cannot go on (ErrLost, ErrVersion,
// broker.ErrReplaced) stops alone, and Problem reports it.
func (w *Worker) Run(ctx context.Context, partitions []int) error {
	if err := w.check(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, p := range partitions {
		w.statuses.of(p).begin(time.Now())
	}
	w.begun.Store(true)
	for _, p := range partitions {
		wg.Go(func() { w.keep(ctx, p) })
	}
	wg.Wait()
	return ctx.Err()
}

func (w *Worker) check() error {
	if w.Options.Nonce == "" {
		return errors.New("worker: Options.Nonce is empty")
	}
	if r := w.Options.Rules; r != nil {
		return r.Check()
	}
	return nil
}

// keep runs a partition until ctx ends. After a failure it starts the partition
// again; the pause grows while the partition fails without progress. A partition
// that cannot go on is tried again at intervals, because an operator may have
// recovered it.
func (w *Worker) keep(ctx context.Context, p int) {
	st := w.statuses.of(p)
	defer st.retire()
	defer st.failing.Store(nil)
	defer st.stop(nil)
	var logged time.Time
	for ctx.Err() == nil {
		st.runs(time.Now())
		err := newPartition(w, p).run(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := w.Options.withDefaults().LookAgain
		if stops(err) {
			if st.stop(err) {
				w.Logger.Error().Err(err).Int("partition", p).Msg("partition stopped")
			}
		} else {
			st.stop(nil)
			st.restarts.Add(1)
			row := st.failed(err, time.Now())
			pause = pauseAfter(row)
			if time.Since(logged) >= logInterval {
				logged = time.Now()
				w.Logger.Warn().Err(err).Int("partition", p).Int("in_a_row", row).Uint64("seq", st.next.Load()).
					Dur("pause", pause).Msg("partition starts again")
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Problem returns why the worker is not ready, nil if it is. It is not ready
// while it takes partitions over, and where one stopped, fails repeatedly or is
// far behind, or a session is held.
func (w *Worker) Problem() error {
	if err := w.hindered(); err != nil {
		return err
	}
	return w.settling()
}

// hindered returns which partitions make no progress and why, nil if all do.
func (w *Worker) hindered() error {
	stopped, first := 0, error(nil)
	var held error
	for p, st := range w.statuses.all() {
		if why := st.stopped.Load(); why != nil {
			if stopped++; first == nil {
				first = fmt.Errorf("partition %d: %w", p, why.err)
			}
		}
		if why := st.held.Load(); why != nil && held == nil {
			held = why.err
		}
	}
	switch {
	case stopped > 0:
		return fmt.Errorf("%d partitions stopped, %w", stopped, first)
	case held != nil:
		return held
	}
	now := time.Now()
	if err := w.failures(now); err != nil {
		return err
	}
	return w.late(now)
}
