package worker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/rs/zerolog"
)

// partition is the state of one partition. It takes events, one at a time, and never
// waits: what it asks for meanwhile is in effects, and the outcomes come back as events.
type partition struct {
	reports
	effects
	w    *Worker
	log  Log
	opts Options
	p    int

	reading    inputPosition
	rules      session.RulesLog
	past       shared[*session.RulesLog]
	checked    logChecks
	table      table
	held       heldSessions
	appender   appender
	snapshots  snapshotWriter
	checkpoint checkpointer
	clock      clock
	lister     lister
	loads      loader
	ends       ends
	ahead      []*resident // of whose event logs some events were to follow yet
	chores     operations  // one of each kind at a time

	ticks   int
	now     time.Time // when the inputs that are being folded were taken
	skipped time.Time // when a skipped input was logged
	decoder session.Reader
	scratch []events.Event
}

// sampledBurst is how many lines about sessions whose state was lost a partition
// logs in an interval; metrics count all.
const sampledBurst = 10

// choresAtOnce is the number of other operations than loads that run at once.
const choresAtOnce = 64

func newPartition(w *Worker, p int) *partition {
	logger := w.Logger.With().Int("partition", p).Logger()
	opts := w.Options.withDefaults()
	r := reports{
		partition: p, status: w.statuses.of(p), logger: logger, observer: opts.Observer,
		sampled: logger.Sample(&zerolog.BurstSampler{Burst: sampledBurst, Period: logInterval}),
	}
	q := &partition{
		reports: r, w: w, log: w.Log, opts: opts, p: p, table: newTable(&w.memory),
		held:       heldSessions{of: map[string]*held{}, partition: p, status: r.status, log: w.Log},
		checkpoint: checkpointer{log: w.Log, partition: p, keep: opts.DurableAfter},
		lister:     lister{log: w.Log, partition: p},
	}
	q.loads = loader{operations: operations{effects: &q.effects, limit: loadsAtOnce}, of: map[string]*loading{}}
	q.chores = operations{effects: &q.effects, limit: choresAtOnce}
	q.appender = appender{publisher: publisher{effects: &q.effects}, reports: r, messages: w.Log, snapshots: &q.snapshots}
	out := &q.appender.publisher
	q.snapshots = snapshotWriter{
		reports: r, out: out, messages: w.Log, checked: &q.checked,
		every: opts.SnapshotEvery, keep: opts.DurableAfter, rules: &q.rules,
	}
	q.clock = clock{timers: newTimers(), reports: r, out: out, log: w.Log, grace: opts.Grace, rules: &q.rules, reading: &q.reading, began: wholeMillis(time.Now())}
	return q
}

// The events of a partition, besides the batches of its reader, the outcomes of its
// publishes (broker.Ack) and the results of its operations (operationResult).
type (
	tick      time.Time // the time to save what is due
	save      time.Time // the time to save, outside the usual times
	timerDue  time.Time // a timer may be due, or a pause ends
	checkHeld struct{}  // an operator may have released sessions that are held
	relist    struct{}  // the snapshots may be listed again
	// findPosition asks for the position behind the inputs of other partitions.
	findPosition struct{}
)

// step takes an event. An error ends the run of the partition.
func (q *partition) step(event any) error {
	switch e := event.(type) {
	case *takeover:
		q.begin(e)
	case batch:
		return q.take(e)
	case broker.Ack:
		return q.publishDone(e)
	case operationResult:
		e.group.finish()
		return q.result(e.result)
	case timerDue:
		q.appender.resume(time.Time(e))
		return q.askDue(time.Time(e))
	case tick:
		q.tick(time.Time(e))
	case save:
		q.store(false, time.Time(e))
		q.advance(time.Time(e))
	case findPosition:
		q.findPosition()
	case checkHeld:
		q.held.check(&q.chores)
	case relist:
		q.retryRefused()
		q.lister.begin(&q.chores)
	}
	return nil
}

func (q *partition) publishDone(a broker.Ack) error {
	q.appender.finish()
	switch key := a.Pub.Key.(type) {
	case *outgoing:
		return q.appendDone(key, a)
	case chunk:
		return q.appender.acknowledgeChunk(key.of, a.Err)
	case *snapshotWrite:
		refused, err := q.snapshots.writeDone(key, a)
		if s := key.session; refused && s.entry.live == s {
			q.loadAgain(s, q.reading.pos)
		}
		return err
	case clockAsk:
		return q.clock.acknowledge(key, a)
	case nil:
		if a.Err != nil {
			return fmt.Errorf("worker: publishing %s: %w", a.Pub.Subject, a.Err)
		}
	}
	return nil
}

func (q *partition) result(result any) error {
	switch r := result.(type) {
	case *loadResult:
		return q.loadDone(r)
	case *checkpointWrite:
		return q.checkpointDone(r)
	case *logCheckResult:
		return q.logCheckDone(r)
	case *listingResult:
		q.listingDone(r)
	case *positionResult:
		q.reading.pos = max(q.reading.pos, r.pos)
	case *heldCheckResult:
		return q.heldCheckDone(r)
	}
	return nil
}

// tick saves what is due and, once in SnapshotEvery, does the rest. The snapshots of
// sessions and partitions are spread over time: events would wait behind a burst of them.
func (q *partition) tick(now time.Time) {
	q.checkLog()
	q.checkAhead()
	late := !q.reading.caughtUp && now.Sub(q.reading.at.Std()) > snapshotLate
	q.store(late || q.appender.queued >= snapshotQueued, now)
	if q.ticks++; (q.ticks+q.p)%ticksEvery == 0 {
		q.advance(now)
		q.evict(now)
		q.measure(now)
		if (q.reading.caughtUp || q.reading.at > 0) && q.status.stop(nil) { // it runs, whatever had stopped it before
			q.logger.Info().Msg("partition resumed")
		}
	}
}

// checkAhead loads sessions again whose event logs have events of inputs that should have
// been read by now, and were not.
func (q *partition) checkAhead() {
	q.ahead = slices.DeleteFunc(q.ahead, func(s *resident) bool {
		if s.lostInputs(q.reading.pos) && s.entry.live == s {
			q.loadAgain(s, q.reading.pos)
		}
		return s.gone || len(s.log.ahead) == 0
	})
}

// loadAgain loads a live session whose state does not fit what is stored.
func (q *partition) loadAgain(s *resident, pos uint64) *loading {
	q.drop(s)
	return q.beginLoad(&loading{token: s.token, pos: pos, first: s.snapshot.first})
}

// retryRefused sends again what was refused: permissions and limits change.
func (q *partition) retryRefused() {
	for s := range q.table.lives {
		if s.log.stuck {
			s.log.stuck = false
			q.appender.send(s)
		}
	}
}

// drop forgets a live session; it is loaded again on demand.
func (q *partition) drop(s *resident) {
	s.gone, s.entry.live = true, nil
	q.appender.queued -= s.log.bytes()
	if s.snapshot.write != nil {
		q.snapshots.end(s.snapshot.write)
	}
	q.table.move(s.entry, known, time.Now())
}

func (q *partition) take(b batch) error {
	r := &q.reading
	q.now = time.Now()
	for i := range b.inputs {
		in := &b.inputs[i]
		if in.Seq < r.pos {
			continue
		}
		if err := q.input(in); err != nil {
			return fmt.Errorf("worker: input %d: %w", in.Seq, err)
		}
		r.pos, r.last = in.Seq+1, broker.Witness{Seq: in.Seq, At: in.At}
		r.at = max(r.at, events.At(in.At))
	}
	r.pos = max(r.pos, b.next)
	r.caughtUp = b.caughtUp
	q.loadExpected()
	if n := len(b.inputs); n > 0 && b.caughtUp {
		q.clock.server = events.At(b.inputs[n-1].At) - q.clock.local(q.now)
	}
	q.reportPosition()
	if b.caughtUp {
		q.repeatRules()
	}
	if b.done != nil {
		b.done <- struct{}{}
	}
	return nil
}

func (q *partition) input(in *inputs.Input) error {
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
	return q.deliver(in, q.rules.InForce())
}

// deliver folds an input of a session, or keeps it until the session is loaded. rules were
// in force when it was read.
func (q *partition) deliver(in *inputs.Input, rules *session.Rules) error {
	s := q.table.live(in.Token)
	if s == nil {
		if q.held.has(in.Token) {
			q.held.skip(in)
			return nil
		}
		if e := q.table.of[in.Token]; e != nil && in.Seq <= e.covered {
			return nil
		}
		var l *loading
		if s, l = q.load(in.Token); s == nil {
			q.loads.queue(l, in, rules)
			return nil
		}
	}
	if s.lostInputs(in.Seq) {
		q.loads.queue(q.loadAgain(s, in.Seq), in, rules)
		return nil
	}
	return q.fold(s, in, rules)
}

func (q *partition) fold(s *resident, in *inputs.Input, rules *session.Rules) error {
	if in.Seq <= s.state.N {
		return nil
	}
	was := s.state.Life.Time
	q.scratch = session.Fold(q.scratch[:0], s.state, sessionInput(in, rules, &q.decoder))
	s.advanceTime(in, was, q.now)
	if s.noteFold(in, q.now) {
		q.snapshots.changed.add(s)
	}
	q.table.touch(s.entry, q.now)
	q.table.setOpen(s.entry, s.state.Life.Open())
	q.status.folded.Add(1)
	err := q.appender.enqueue(s, q.scratch, in.Trace())
	s.log.pass(in.Seq, s.token, &q.reports)
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

func sessionInput(in *inputs.Input, rules *session.Rules, reader *session.Reader) session.Input {
	return session.Input{Input: *in, Rules: rules, Reader: reader}
}
