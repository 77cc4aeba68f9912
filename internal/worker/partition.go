package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/inputlog"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// partition is the state of one partition. The goroutine of run owns all of
// it; others only send to its channels.
type partition struct {
	w    *Worker
	log  Log
	opts Options
	z    zerolog.Logger
	// sampled logs what can happen to all sessions at once, at most so often.
	sampled zerolog.Logger
	p       int

	live    map[string]*live // sessions in memory, by token
	cold    map[string]cold  // others, read for this turn only
	atOnce  int              // how many reads are under way at once
	known   knownTokens
	evicted map[string]evicted // where sessions stood when they left memory
	held    map[string]*held   // sessions that only an operator can close
	alarms  alarms
	paused  paused
	rules   rulesLog
	past    *rulesLog // those before the mark; nil if not read yet
	mark    broker.Mark
	rev     uint64 // of the mark
	rewinds broker.Rewinds
	genuine uint64 // inputs folded under numbers up to it are still in the log
	epoch   uint64 // in which the input log was found to be the same
	// pos: every input below it is folded.
	pos      uint64
	last     broker.Witness // the last input folded
	read     events.Time    // stamp of the last input
	caughtUp bool
	queued   int // bytes of events not stored yet
	flying   int // publishes without an outcome yet
	// Saves under way, and the bytes of their states.
	saving, savingBytes int
	m                   *meters
	// asleep are the open calls of sessions that are not in memory, by token.
	asleep map[string]int

	acks   chan broker.Ack
	inputs chan batch
	lists  chan listing
	marked chan markAck

	skipTold time.Time // when a skipped input was logged

	ticks   int
	tasks   sync.WaitGroup // what run has started
	marking bool
	reader  decode.Reader
	scratch []events.Event
	// snapshots encodes those of this partition.
	snapshots snapshotEncoder
}

// batch is some inputs on their way to the owner, who says on done when it is
// through with them.
type batch struct {
	inputs   []broker.Input
	next     uint64
	caughtUp bool
	done     chan struct{}
}

// sampledBurst is how many lines about sessions whose state was lost a partition
// logs in an interval; metrics count all.
const sampledBurst = 10

// acksRoom is enough that a publisher seldom waits to hand over an ack.
const acksRoom = 4096

func newPartition(w *Worker, p int) *partition {
	return &partition{
		w: w, log: w.Log, opts: w.Options.withDefaults(), p: p,
		z:       w.Logger.With().Int("partition", p).Logger(),
		sampled: w.Logger.With().Int("partition", p).Logger().Sample(&zerolog.BurstSampler{Burst: sampledBurst, Period: tellAgain}),
		m:       w.metersOf(p),
		live:    map[string]*live{},
		cold:    map[string]cold{},
		atOnce:  coldAtOnce,
		known:   newKnownTokens(), evicted: map[string]evicted{}, held: map[string]*held{},
		asleep: map[string]int{},
		alarms: newAlarms(),
		acks:   make(chan broker.Ack, acksRoom),
		inputs: make(chan batch),
		lists:  make(chan listing, 1),
		marked: make(chan markAck, 1),
	}
}

// run takes the partition over and carries it until ctx ends.
func (q *partition) run(ctx context.Context) error {
	q.m.begin(time.Now())
	if err := q.takeOver(ctx); err != nil {
		return err
	}
	q.m.settled.Store(true)
	working, stop := context.WithCancel(ctx)
	read := make(chan error, 1)
	q.tasks.Go(func() { read <- q.log.Inputs(working, q.p, q.pos, q.hand(working)) })
	err := q.loop(working, read)
	stop()
	if ctx.Err() != nil {
		q.settle()
	}
	q.tasks.Wait()
	q.abandon()
	return err
}

// hand gives the function that brings batches to the owner.
func (q *partition) hand(ctx context.Context) func([]broker.Input, uint64, bool) error {
	done := make(chan struct{}, 1)
	return func(in []broker.Input, next uint64, caughtUp bool) error {
		select {
		case q.inputs <- batch{in, next, caughtUp, done}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

const (
	saveParts  = 8 // looks for what is to be saved, in SaveEvery
	listEvery  = time.Minute
	settleTime = 5 * time.Second
)

func (q *partition) loop(ctx context.Context, read <-chan error) error {
	tick := time.NewTicker(max(1, q.opts.SaveEvery/saveParts))
	defer tick.Stop()
	list := time.NewTicker(listEvery)
	defer list.Stop()
	look := time.NewTicker(q.opts.LookAgain)
	defer look.Stop()
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	for {
		inputs := q.inputs
		if q.queued > q.opts.MaxQueued {
			inputs = nil // first let what there is be stored
		}
		q.setTimer(alarm)
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err = <-read:
			return q.readEnded(ctx, err)
		case b := <-inputs:
			err = q.take(ctx, b)
		case a := <-q.acks:
			err = q.acked(ctx, a)
		case now := <-alarm.C:
			q.resume(now)
			err = q.ring(ctx, now)
		case now := <-tick.C:
			err = q.tick(ctx, now)
		case <-look.C:
			err = q.release(ctx)
		case <-list.C:
			q.unstick()
			q.tasks.Go(func() { q.list(ctx) })
		case l := <-q.lists:
			err = q.listed(ctx, l)
		case m := <-q.marked:
			err = q.markSaved(m)
		}
		if err != nil {
			return err
		}
	}
}

// tick saves what is due and, once in SaveEvery, looks after the rest. Neither
// all sessions nor all partitions are saved at one moment: events would wait
// behind that.
func (q *partition) tick(ctx context.Context, now time.Time) error {
	if err := q.checkFresh(ctx, now.Add(-q.opts.SaveEvery)); err != nil {
		return err
	}
	q.save(now)
	if q.ticks++; (q.ticks+q.p)%saveParts == 0 {
		q.advance(ctx)
		q.evict(now)
		q.measure(now)
		if (q.caughtUp || q.read > 0) && q.w.stop(q.p, nil) { // it works, whatever had stopped it before
			q.z.Info().Msg("partition goes on")
		}
	}
	return nil
}

// readEnded says why no more inputs come. What is lost is lost only where the
// saved mark says so: another owner may have moved it on.
func (q *partition) readEnded(ctx context.Context, err error) error {
	lost := (*inputlog.LostError)(nil)
	if !errors.As(err, &lost) {
		return fmt.Errorf("worker: reading inputs of partition %d: %w", q.p, err)
	}
	mark, _, failed := q.log.LoadMark(ctx, q.p)
	if failed != nil || mark.Seq >= lost.First {
		return fmt.Errorf("worker: fell behind the input log, start again from the mark: %w", errors.Join(err, failed))
	}
	return fmt.Errorf("%w: partition %d: %w", ErrLost, q.p, err)
}

// takeOver reads the mark and the sessions with something open.
func (q *partition) takeOver(ctx context.Context) error {
	began := time.Now()
	q.epoch = q.log.Epoch()
	if err := q.loadMark(ctx); err != nil {
		return err
	}
	q.rewinds = q.mark.Rewinds
	l, err := q.listSnapshots(ctx)
	if err != nil {
		return err
	}
	if err := q.recallRewinds(ctx, l.rewinds); err != nil {
		return err
	}
	if err := q.checkRewound(ctx, l.saved); err != nil {
		return err
	}
	q.pos = q.mark.Seq
	if l.open, err = q.open(ctx, l.saved); err != nil {
		return err
	}
	if err := q.listed(ctx, l); err != nil {
		return err
	}
	if err := q.checkOpen(ctx, l.saved, began); err != nil {
		return err
	}
	return q.askRules(ctx)
}

// loadMark reads the mark and the rules in it, and begins one where there is
// none. Where it was lost the log is folded from its first input on: snapshots
// say what of it is folded already.
func (q *partition) loadMark(ctx context.Context) (err error) {
	q.mark, q.rev, err = q.log.LoadMark(ctx, q.p)
	if err == nil {
		err = q.rules.begin(q.mark)
	}
	lost := errors.Is(err, broker.ErrDamaged)
	if err != nil && !lost {
		return err
	}
	first, _, err := q.log.InputBounds(ctx)
	if err != nil {
		return err
	}
	if lost || q.mark.Seq == 0 {
		if lost || first > 1 {
			q.m.damaged.Add(1)
			q.z.Error().Uint64("seq", first).Msg("the checkpoint is missing or damaged; folding from the first input in the log")
		}
		return q.beginMark(ctx, first)
	}
	if q.mark.Seq < first && first > 1 {
		return fmt.Errorf("%w: partition %d is folded up to %d, the input log begins at %d; `streamer recover` shows what can be done", ErrLost, q.p, q.mark.Seq, first)
	}
	return nil
}

// beginMark writes the mark of a partition that has none: at the first input,
// under the rules of that time, or the first that the log still has.
func (q *partition) beginMark(ctx context.Context, first uint64) (err error) {
	q.mark = broker.Mark{Seq: first}
	if first > 1 {
		err = q.log.RulesInputs(ctx, q.p, func(in *broker.Input) error {
			if _, err := parseRules(in.Data); err != nil {
				return nil //nolint:nilerr // refused, as when it is read
			}
			q.mark.Rules = bytes.Clone(in.Data)
			return errEnough
		})
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if q.rev, err = q.log.SaveMark(ctx, q.p, q.mark, q.rev); err != nil && !errors.Is(err, broker.ErrConflict) {
		return err
	}
	return q.rules.begin(q.mark)
}

var errEnough = errors.New("enough")

// How long an answer is asked for again that says that something is lost. A
// server that was cut off from the others answers for some seconds as if it
// still led them.
const (
	staleTime  = 5 * time.Second
	staleEvery = 250 * time.Millisecond
)

// believed asks until the answer is good, or staleTime is over: then the bad
// one holds. A stream without replicas has no outdated leader.
func (q *partition) believed(ctx context.Context, ask func() (good bool, err error)) error {
	for end := time.Now().Add(staleTime); ; {
		good, err := ask()
		if err != nil || good || !q.log.Replicated() || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(staleEvery):
		}
	}
}

// take folds a batch.
func (q *partition) take(ctx context.Context, b batch) error {
	defer q.forgetCold()
	if err := q.sameLog(ctx); err != nil {
		return err
	}
	for i := range b.inputs {
		in := &b.inputs[i]
		if in.Seq < q.pos {
			continue
		}
		if in.Kind != inputs.Rules && q.live[in.Token] == nil {
			q.prefetch(ctx, sessionsOf(b.inputs[i:]))
		}
		if err := q.input(ctx, in); err != nil {
			return fmt.Errorf("worker: input %d: %w", in.Seq, err)
		}
		q.pos, q.last = in.Seq+1, broker.Witness{Seq: in.Seq, At: in.At}
		q.read = max(q.read, events.At(in.At))
	}
	q.pos = max(q.pos, b.next)
	q.caughtUp = b.caughtUp
	q.readUpTo()
	if b.caughtUp {
		q.repeatRules()
	}
	b.done <- struct{}{}
	return nil
}

// sessionsOf gives the sessions that inputs are of, some of them again.
func sessionsOf(list []broker.Input) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range list {
			in := &list[i]
			if !in.Foreign && in.Kind != inputs.Rules && !yield(in.Token) {
				return
			}
		}
	}
}

func (q *partition) input(ctx context.Context, in *broker.Input) error {
	if in.Kind == inputs.Probe {
		return nil
	}
	if in.Foreign {
		q.skip(in)
		return nil
	}
	if in.Kind == inputs.Rules {
		err := q.rules.set(in)
		if err != nil && !errors.Is(err, ErrVersion) {
			q.z.Warn().Err(err).Uint64("seq", in.Seq).Msg("rules input ignored")
			return nil
		}
		return err
	}
	l, err := q.load(ctx, in.Token)
	if errors.Is(err, errHeld) {
		q.hold(in)
		return nil
	}
	if err != nil {
		return err
	}
	n := q.rewinds.Effective(in.Seq)
	if n <= l.state.N {
		return nil
	}
	q.scratch = session.Fold(q.scratch[:0], l.state, sessionInput(in, n, q.rules.inForce(), &q.reader))
	l.folded(in)
	q.m.folded.Add(1)
	err = q.queue(l, q.scratch, in.Trace())
	clear(q.scratch) // which may hold a large value
	if err != nil {
		return err
	}
	q.wake(l)
	return nil
}

// skip counts an input on a subject that is not its own, and logs one at most
// once per interval.
func (q *partition) skip(in *broker.Input) {
	skipped := q.m.skipped.Add(1)
	if now := time.Now(); now.Sub(q.skipTold) >= tellAgain {
		q.skipTold = now
		q.z.Warn().Uint64("seq", in.Seq).Str("subject", in.Subject).Uint64("skipped", skipped).Msg("input on a subject that is not its own skipped")
	}
}

// sessionInput returns what the fold reads of a stored input that has number n.
func sessionInput(in *broker.Input, n uint64, rules *session.Rules, reader *decode.Reader) session.Input {
	s := session.Input{Input: *in, Rules: rules, Reader: reader}
	s.Seq = n
	return s
}

// settle waits, at the end, for what is under way, saves what changed and
// moves the mark: the next owner then has nothing to do again.
func (q *partition) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	step := func() bool {
		select {
		case a := <-q.acks:
			return q.acked(ctx, a) == nil
		case m := <-q.marked:
			return q.markSaved(m) == nil
		case <-ctx.Done():
			return false
		}
	}
	for q.queued > 0 && q.flying > 0 { // else they stand still, and are saved
		if !step() {
			return
		}
	}
	if q.checkFresh(ctx, time.Now()) != nil || !q.saveRest(step) {
		return
	}
	// Where the mark ends must not expire before the next owner comes, only
	// because the last inputs were those of other partitions.
	if pos, err := q.log.InputPosition(ctx, q.p, q.pos); err == nil {
		q.pos = pos
	}
	for range 2 { // the first may meet one of ours that was on its way
		q.advance(ctx)
		for q.marking && step() {
		}
	}
}

// saveRest saves all that changed. step waits for an outcome, if there is time.
func (q *partition) saveRest(step func() bool) bool {
	for range 2 { // some changed while they were being saved
		left := q.saveAll(time.Now())
		for q.saving > 0 || q.marking {
			if !step() {
				return false
			}
			if left && q.savingBytes < maxSaving/2 {
				left = q.saveAll(time.Now())
			}
		}
	}
	return true
}
