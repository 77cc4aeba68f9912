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
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// Log is what a worker needs of the broker.
type Log interface {
	Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []broker.Input, next uint64, caughtUp bool) error) error
	InputBounds(ctx context.Context) (first, last uint64, err error)
	Partition(token string) int
	Replicated() bool
	Outage() (from, until time.Time)
	Input(ctx context.Context, seq uint64) (in broker.Input, ok bool, err error)
	InputAfter(ctx context.Context, t time.Time) (seq uint64, err error)
	SessionInputs(ctx context.Context, token string, fn func(*broker.Input) error) error
	RulesInputs(ctx context.Context, p int, fn func(*broker.Input) error) error
	LastRules(ctx context.Context, p int) (in broker.Input, ok bool, err error)
	Events(ctx context.Context, token string, after uint64, fn func(broker.Stored) error) error
	FirstEvent(ctx context.Context, token string) (broker.Stored, error)
	TopEvent(ctx context.Context, p int, since time.Time) (events.ID, error)
	RecentEvents(ctx context.Context, d time.Duration) (map[int]broker.Stored, error)
	OpenEvents(ctx context.Context) (map[string]eventlog.Opened, error)
	InputPosition(ctx context.Context, partition int, next uint64) (uint64, error)
	EventBounds(ctx context.Context) (first, last uint64, err error)
	ChainLast(ctx context.Context, token string) (seq uint64, last broker.Stored, err error)

	Epoch() uint64
	Publish(p *broker.Pub, acks chan<- broker.Ack)
	PublishWait(ctx context.Context, p *broker.Pub) broker.Ack
	EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *broker.Pub
	ClockPub(token, msgID string, data []byte) *broker.Pub
	RulesPub(p int, msgID string, data []byte) *broker.Pub
	BlobPubs(blob events.Blob) []*broker.Pub

	LoadState(ctx context.Context, p int, token string) (s broker.State, ok bool, err error)
	SavePub(p int, token string, rev uint64, header map[string]string, data []byte) (pub *broker.Pub, blobs []*broker.Pub)
	ListStates(ctx context.Context, p int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) error
	LastState(ctx context.Context, p int) (rev uint64, err error)
	LoadMark(ctx context.Context, p int) (m broker.Mark, rev uint64, err error)
	SaveMark(ctx context.Context, p int, m broker.Mark, rev uint64) (newRev uint64, err error)
}

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
		r := lifecycle.DefaultRules()
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

// Worker carries partitions. Its zero value needs Log and Options.Nonce.
type Worker struct {
	Log     Log
	Options Options
	Logger  zerolog.Logger

	mu      sync.Mutex // guards the maps, which Problem and Stats read from elsewhere
	stopped map[int]error
	held    map[int]error
	failing map[int]*failing
	meters  map[int]*meters
	begun   atomic.Bool // which partitions it carries is known

	reading sync.Mutex // guards what partitions that are taken over together read once
	recent  recent
	opened  opened
}

// Run carries the given partitions until ctx ends, and returns when all that
// was under way is done with. A partition that fails is started again from its
// mark; one that cannot go on (ErrLost, ErrVersion, broker.ErrReplaced) stops
// alone, loudly, and Problem tells.
func (w *Worker) Run(ctx context.Context, partitions []int) error {
	if err := w.check(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, p := range partitions {
		w.metersOf(p).begin(time.Now())
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

// keep runs a partition again and again, after a growing pause where it fails
// without getting on. One that cannot go on is looked at again now and then: an
// operator may have mended it.
func (w *Worker) keep(ctx context.Context, p int) {
	m := w.metersOf(p)
	defer m.retire()
	defer w.recovered(p)
	defer w.stop(p, nil)
	var told time.Time
	for ctx.Err() == nil {
		w.begins(p, time.Now())
		err := newPartition(w, p).run(ctx)
		if ctx.Err() != nil {
			return
		}
		pause := w.Options.withDefaults().LookAgain
		if stops(err) {
			if w.stop(p, err) {
				w.Logger.Error().Err(err).Int("partition", p).Msg("partition stopped")
			}
		} else {
			w.stop(p, nil)
			m.restarts.Add(1)
			row := w.failed(p, err, time.Now())
			pause = pauseAfter(row)
			if time.Since(told) >= tellAgain {
				told = time.Now()
				w.Logger.Warn().Err(err).Int("partition", p).Int("in_a_row", row).Uint64("seq", m.next.Load()).
					Dur("pause", pause).Msg("partition starts again")
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// stop notes why a partition stopped, nil that it goes on, and tells whether
// that is news.
func (w *Worker) stop(p int, err error) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.stopped[p]
	if err == nil {
		delete(w.stopped, p)
		return was != nil
	}
	if w.stopped == nil {
		w.stopped = map[int]error{}
	}
	w.stopped[p] = err
	return was == nil
}

// Problem returns why the worker is not ready: it is taking partitions over, one
// stopped, fails again and again or is far behind, or a session is held. It is
// nil if it is ready.
func (w *Worker) Problem() error {
	if err := w.hindered(); err != nil {
		return err
	}
	return w.settling()
}

// hindered returns which partitions do not get on, and why, or nil.
func (w *Worker) hindered() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, err := range w.stopped {
		return fmt.Errorf("%d partitions stopped, partition %d: %w", len(w.stopped), p, err)
	}
	for _, err := range w.held {
		return err
	}
	now := time.Now()
	if err := w.problems(now); err != nil {
		return err
	}
	return w.late(now)
}

// hold notes why sessions of a partition are held, nil that none is.
func (w *Worker) hold(p int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == nil {
		w.held = map[int]error{}
	}
	if w.held[p] = err; err == nil {
		delete(w.held, p)
	}
}
