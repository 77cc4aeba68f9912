package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// partition is the state of one partition. The goroutine of run owns all of
// it; others only send to its channels. The owner starts I/O as operations and
// never waits for one of them.
type partition struct {
	reports
	w    *Worker
	log  Log
	opts Options
	p    int

	reading    inputPosition
	rules      session.RulesLog
	history    history
	sessions   sessions
	held       heldSessions
	appender   appender
	snapshots  snapshotWriter
	checkpoint checkpointer
	clock      clock
	evictor    evictor
	lister     lister

	reader inputReader
	done   chan finished // of the operations
	tasks  sync.WaitGroup
	loads  loader
	heads  operations // that read what another worker stored of a session
	chores operations // one of each kind at a time

	ticks   int
	now     time.Time // when the inputs that are being folded were taken
	skipped time.Time // when a skipped input was logged
	decoder session.Reader
	scratch []events.Event
}

// sampledBurst is how many lines about sessions whose state was lost a partition
// logs in an interval; metrics count all.
const sampledBurst = 10

// The number of operations of each group that run at once.
const (
	headsAtOnce  = 64
	choresAtOnce = 8 // more than there are kinds of them
)

func newPartition(w *Worker, p int) *partition {
	logger := w.Logger.With().Int("partition", p).Logger()
	opts := w.Options.withDefaults()
	r := reports{
		partition: p, status: w.statuses.of(p), logger: logger, observer: opts.Observer,
		sampled: logger.Sample(&zerolog.BurstSampler{Burst: sampledBurst, Period: logInterval}),
	}
	q := &partition{
		reports: r, w: w, log: w.Log, opts: opts, p: p,
		held:       heldSessions{of: map[string]*held{}, partition: p, status: r.status, log: w.Log},
		appender:   appender{publisher: newPublisher(w.Log), reports: r, messages: w.Log, heads: w.Log, keepAcked: opts.KeepAcked},
		checkpoint: checkpointer{log: w.Log, partition: p},
		lister:     lister{log: w.Log, partition: p, atOnce: loadsAtOnce},
		reader:     inputReader{log: w.Log, partition: p, batches: make(chan batch)},
		done:       make(chan finished, loadsAtOnce+headsAtOnce+choresAtOnce),
	}
	out := &q.appender.publisher
	q.snapshots = snapshotWriter{reports: r, out: out, messages: w.Log, stored: w.Log, every: opts.SnapshotEvery, rules: &q.rules, history: &q.history, keepAcked: opts.KeepAcked}
	q.clock = clock{timers: newTimers(), reports: r, out: out, messages: w.Log, grace: opts.Grace, rules: &q.rules, reading: &q.reading, began: wholeMillis(time.Now())}
	q.sessions = newSessions(&q.appender, &q.snapshots, &q.clock)
	q.sessions.compressed.all, q.sessions.compressed.most = &w.compressed, int64(opts.MaxCompressed)
	q.evictor = evictor{sessions: &q.sessions, worker: w, status: r.status, after: opts.EvictAfter, keepAcked: opts.KeepAcked, most: opts.MaxResident}
	q.loads = loader{operations: q.operations(loadsAtOnce), of: map[string]*loading{}}
	q.heads, q.chores = q.operations(headsAtOnce), q.operations(choresAtOnce)
	q.appender.reads, q.snapshots.reads = &q.heads, &q.heads
	return q
}

// operations returns a group of operations of which so many run at once.
func (q *partition) operations(limit int) operations {
	return operations{limit: limit, done: q.done, spawn: q.tasks.Go}
}

// run takes the partition over and carries it until ctx ends. Operations go on a
// little longer than ctx, so that the next owner finds what was under way.
func (q *partition) run(ctx context.Context) error {
	q.status.begin(time.Now())
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer func() { stop(); q.tasks.Wait(); q.sessions.compressed.clear() }()
	if err := q.takeOver(ctx, working); err != nil {
		return err
	}
	q.status.settled.Store(true)
	reading, end := context.WithCancel(ctx)
	read := make(chan error, 1)
	from := q.reading.pos
	reader := q.reader
	q.tasks.Go(func() { read <- reader.run(reading, from) })
	err := q.loop(ctx, working, read)
	end()
	if ctx.Err() != nil {
		q.settle(working)
	}
	return err
}

const (
	ticksEvery = 8 // looks for snapshots that are due, in SnapshotEvery
	listEvery  = time.Minute
)

// loop carries the partition until stop ends or an error. working is the context
// of the operations.
func (q *partition) loop(stop, working context.Context, read <-chan error) error {
	tick := time.NewTicker(max(1, q.opts.SnapshotEvery/ticksEvery))
	defer tick.Stop()
	list := time.NewTicker(listEvery)
	defer list.Stop()
	look := time.NewTicker(q.opts.RecoveredEvery)
	defer look.Stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		inputs := q.reader.batches
		if q.appender.queued > q.opts.MaxQueued || q.loads.full() {
			inputs = nil // first let events be stored, or sessions be loaded
		}
		timer.Reset(q.untilTimer())
		var err error
		select {
		case <-stop.Done():
			return stop.Err()
		case err = <-read:
			return err
		case b := <-inputs:
			err = q.take(working, b)
		case a := <-q.appender.acks:
			err = q.landed(working, a)
		case f := <-q.done:
			err = q.complete(working, f)
		case now := <-timer.C:
			q.appender.resume(now)
			err = q.ring(working, now)
		case now := <-tick.C:
			q.tick(working, now)
		case <-look.C:
			q.held.check(working, &q.chores)
		case <-list.C:
			q.sessions.retryRefused()
			q.lister.begin(working, &q.chores)
		}
		if err != nil {
			return err
		}
	}
}

// untilTimer returns the time until the next timer is due or a pause ends.
func (q *partition) untilTimer() time.Duration {
	now := time.Now()
	d := q.clock.wait(now)
	if first := q.appender.paused.first; !first.IsZero() {
		d = min(d, max(0, first.Sub(now)))
	}
	return d
}

// complete takes the result of an operation.
func (q *partition) complete(ctx context.Context, f finished) error {
	f.group.finish(ctx)
	return f.result.apply(ctx, q)
}

// tick writes snapshots that are due and, once in SnapshotEvery, does the rest. The
// snapshots of sessions and partitions are spread over time: events would wait
// behind a burst of them.
func (q *partition) tick(ctx context.Context, now time.Time) {
	q.checkFresh(ctx, now.Add(-q.opts.SnapshotEvery))
	q.writeDue(now)
	if q.ticks++; (q.ticks+q.p)%ticksEvery == 0 {
		q.advance(ctx)
		q.evictor.evict(now)
		q.measure(now)
		if (q.reading.caughtUp || q.reading.at > 0) && q.status.stop(nil) { // it runs, whatever had stopped it before
			q.logger.Info().Msg("partition goes on")
		}
	}
}

// writeDue writes snapshots of the sessions that changed SnapshotEvery ago and had no
// input since, or that changed snapshotBusy times as long ago.
func (q *partition) writeDue(now time.Time) {
	age := q.opts.SnapshotEvery
	if late := !q.reading.caughtUp && now.Sub(q.reading.at.Std()) > snapshotLate; late || q.appender.queued >= snapshotQueued {
		age *= snapshotBusy
	}
	q.sessions.writeOlder(now.Add(-age), now)
}

// take folds a batch, or keeps it until inputs may be folded.
func (q *partition) take(ctx context.Context, b batch) error {
	r := &q.reading
	r.held = b // mayFold checks it
	if ok, err := q.mayFold(ctx); !ok {
		return err
	}
	r.held = batch{}
	q.now = time.Now()
	for i := range b.inputs {
		in := &b.inputs[i]
		if in.Seq < r.pos {
			continue
		}
		if err := q.input(ctx, in); err != nil {
			return fmt.Errorf("worker: input %d: %w", in.Seq, err)
		}
		r.pos, r.last = in.Seq+1, broker.Witness{Seq: in.Seq, At: in.At}
		r.at = max(r.at, events.At(in.At))
	}
	r.pos = max(r.pos, b.next)
	r.caughtUp = b.caughtUp
	if n := len(b.inputs); n > 0 && b.caughtUp {
		q.clock.server = events.At(b.inputs[n-1].At) - q.clock.local(q.now)
	}
	q.reportPosition()
	if b.caughtUp {
		q.repeatRules()
	}
	b.done <- struct{}{}
	return nil
}

// takeHeld folds the batch that waits until inputs may be folded.
func (q *partition) takeHeld(ctx context.Context) error {
	if !q.reading.waits() {
		return nil
	}
	return q.take(ctx, q.reading.held)
}

func (q *partition) input(ctx context.Context, in *inputs.Input) error {
	switch {
	case in.Kind == inputs.Probe:
		return nil
	case in.Foreign:
		q.skip(in)
		return nil
	case in.Kind == inputs.Rules:
		was := q.rules.InForce()
		err := q.rules.Set(in)
		if err != nil && !errors.Is(err, session.ErrVersion) {
			q.logger.Warn().Err(err).Uint64("seq", in.Seq).Msg("rules input ignored")
			return nil
		}
		q.clock.rulesChanged(was, events.At(in.At), q.now)
		return err
	}
	n := q.history.rewinds.Effective(in.Seq)
	s := q.sessions.resident[in.Token]
	if s == nil {
		if q.held.has(in.Token) {
			q.held.skip(in)
			return nil
		}
		var l *loading
		if s, l = q.load(ctx, in.Token); s == nil {
			q.loads.queue(l, in, n, q.rules.InForce())
			return nil
		}
	}
	return q.fold(s, in, n, q.rules.InForce())
}

// fold folds an input that has number n.
func (q *partition) fold(s *resident, in *inputs.Input, n uint64, rules *session.Rules) error {
	if n <= s.state.N {
		return nil
	}
	was := s.state.Life.Time
	q.scratch = session.Fold(q.scratch[:0], s.state, sessionInput(in, n, rules, &q.decoder))
	s.timed(in, was, q.now)
	if s.folded(in, q.now) {
		q.snapshots.changed.add(s)
		if s.fresh {
			q.sessions.fresh.add(s)
		}
	}
	q.sessions.open.count(s)
	q.status.folded.Add(1)
	err := q.appender.enqueue(s, q.scratch, in.Trace())
	clear(q.scratch) // which may hold a large value
	if err != nil {
		return err
	}
	q.clock.schedule(s)
	return nil
}

// skip counts an input on a subject that is not its own, and logs one at most
// once per interval.
func (q *partition) skip(in *inputs.Input) {
	skipped := q.status.skipped.Add(1)
	if now := time.Now(); now.Sub(q.skipped) >= logInterval {
		q.skipped = now
		q.logger.Warn().Uint64("seq", in.Seq).Str("subject", in.Subject).Uint64("skipped", skipped).Msg("input on a subject that is not its own skipped")
	}
}

// sessionInput returns what the fold reads of a stored input that has number n.
func sessionInput(in *inputs.Input, n uint64, rules *session.Rules, reader *session.Reader) session.Input {
	s := session.Input{Input: *in, Rules: rules, Reader: reader}
	s.Seq = n
	return s
}
