// Package worker carries inputs through the fold. It reads the input log, folds the
// inputs of each session in order, appends the events that follow to the session's
// event log, writes snapshots and checkpoints, and appends clock inputs.
//
// Order: the events of a session are appended in the order of the fold, one at a
// time. Duplicates: each event is stored once, also where several workers carry
// the same partition. Crashes: whatever process dies at whatever moment, the event
// log of a session becomes the fold of its inputs. The conditions of the appends
// ensure this, not the membership of the workers.
//
// One goroutine owns the state of a partition and never waits for the network. It
// starts every read and write as an operation, and applies its completion after it
// has checked that what was read still holds. A session that is being loaded
// queues its inputs and holds back no other session.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/members"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// Options are the settings of a worker.
type Options struct {
	// Rules this instance wants in force; if nil, those before the first rules
	// input.
	Rules *session.Rules
	// SnapshotEvery is the time from the first input of a session until its first snapshot
	// is taken. One that still receives inputs is taken each four times SnapshotEvery, and
	// another one after DurableAfter without input. If zero, 1 s.
	SnapshotEvery time.Duration
	// EvictAfter is how long a session with a snapshot stays live without input. Then it
	// stays in memory packed, within MaxMemory. If zero, 1 min.
	EvictAfter time.Duration
	// MaxMemory bounds the bytes of the sessions in memory, those of live ones as an
	// estimate. Those that were not used for longest leave memory in steps: their snapshots
	// are read when they return. If zero, 256 MiB.
	MaxMemory int
	// DurableAfter is the time after which what the server acknowledged must be on its
	// disk. A snapshot is stored so long after what it covers, and a checkpoint so long
	// after its snapshots. If zero, 2 s.
	DurableAfter time.Duration
	// PadInputs appends probes to an input log that came back shorter than what was folded
	// of it, so that no sequence is assigned twice. Set it only if no client publishes
	// before the partitions are taken over. Otherwise such a partition stops.
	PadInputs bool
	// MaxQueued bounds the bytes of events of a partition that are not stored
	// yet; no input is read while there are more. If zero, 1 MiB.
	MaxQueued int
	// Grace bounds how long after an outage of the input log no clock input is
	// appended for deadlines that passed meanwhile, so that results which could not
	// be published arrive first. An outage that was shorter bounds it as well. If
	// zero, 10 s; if negative, there is none.
	Grace time.Duration
	// RecoveredEvery is how often a partition that stopped, or has sessions that are
	// held, checks whether an operator has recovered it. If zero, 10 s.
	RecoveredEvery time.Duration
	// Observer receives what is stored. If nil, nothing does.
	Observer Observer
	// Nonce makes message ids of this instance unique. Required.
	Nonce string
}

func (o Options) withDefaults() Options {
	if o.Rules == nil {
		r := session.DefaultRules()
		o.Rules = &r
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.SnapshotEvery <= 0 {
		o.SnapshotEvery = time.Second
	}
	if o.EvictAfter <= 0 {
		o.EvictAfter = time.Minute
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = 256 << 20
	}
	if o.DurableAfter <= 0 {
		o.DurableAfter = 2 * time.Second
	}
	if o.MaxQueued <= 0 {
		o.MaxQueued = 1 << 20
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	if o.RecoveredEvery <= 0 {
		o.RecoveredEvery = 10 * time.Second
	}
	return o
}

// ErrLost is returned where inputs expired before they were folded. The calls in
// them are closed only by an operator.
var ErrLost = errors.New("worker: inputs were lost before they were folded")

// Worker carries partitions. Log and Options.Nonce are required.
type Worker struct {
	Log     Log
	Options Options
	Logger  zerolog.Logger

	statuses statuses
	begun    atomic.Bool // its partitions are known

	// Partitions that are taken over together share these readings.
	recent    shared[recentEvents]
	opened    shared[openOf]
	takeovers atomic.Int32 // under way

	memory atomic.Int64 // bytes of the sessions of all partitions
}

// Run carries the given partitions until ctx ends, and returns when every
// goroutine that it started has ended. A partition that fails is started again
// from its checkpoint. One that cannot go on (ErrLost, ErrRewound,
// session.ErrVersion, broker.ErrReplaced) stops alone, and Problem reports it.
func (w *Worker) Run(ctx context.Context, partitions []int) error {
	if err := w.check(); err != nil {
		return err
	}
	w.begin(partitions)
	var wg sync.WaitGroup
	for _, p := range partitions {
		wg.Go(func() { w.keep(ctx, p) })
	}
	wg.Wait()
	return ctx.Err()
}

// RunShared carries this worker's share of the partitions, of which there are so
// many, until ctx ends.
func (w *Worker) RunShared(ctx context.Context, list members.List, partitions int) error {
	if err := w.check(); err != nil {
		return err
	}
	return members.Member{List: list, ID: w.Options.Nonce, Partitions: partitions, Begin: w.begin, Carry: w.keep, Logger: w.Logger}.Run(ctx)
}

func (w *Worker) begin(partitions []int) {
	for _, p := range partitions {
		w.statuses.of(p).begin(time.Now())
	}
	w.begun.Store(true)
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
	defer w.Options.withDefaults().Observer.PartitionLeft(p)
	defer st.retire()
	defer st.failing.Store(nil)
	defer st.stop(nil)
	var logged time.Time
	for ctx.Err() == nil {
		st.runs(time.Now())
		err := w.runPartition(ctx, p)
		if ctx.Err() != nil {
			return
		}
		pause := w.Options.withDefaults().RecoveredEvery
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
					Dur("pause", pause).Msg("partition failed; starting it again")
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
	for p, st := range w.statuses.all() {
		if why := st.stopped.Load(); why != nil {
			if stopped++; first == nil {
				first = fmt.Errorf("partition %d: %w", p, why.err)
			}
		}
	}
	if stopped > 0 {
		return fmt.Errorf("%d partitions stopped, %w", stopped, first)
	}
	now := time.Now()
	if err := w.failures(now); err != nil {
		return err
	}
	return w.late(now)
}
