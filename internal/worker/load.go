package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

const (
	// loadsAtOnce is how many sessions a partition loads at once: what is read is
	// in memory until it is used.
	loadsAtOnce = 64
	// maxWaiting bounds the bytes of the inputs of a partition that wait for their
	// sessions to be loaded. Each counts waitingCost bytes besides its own.
	maxWaiting  = 4 << 20
	waitingCost = 512
)

// waitingInput is an input that waits for its session.
type waitingInput struct {
	inputs.Input
	rules *session.Rules // in force when it was read
}

// loading is a session that is being loaded.
type loading struct {
	token  string
	pos    uint64        // all inputs of the session from it on wait here
	first  uint64        // the first input before pos that no snapshot covers, 0 if none is known
	memory *resident     // its state in memory, nil if there is none
	end    *eventlog.End // of its event log, nil if that has to be read
	// refused is the append that was refused, nil if that is not the reason of the load.
	refused *refusal
	inputs  []waitingInput
	bytes   int
}

// refusal is an append that was refused because the log had another head than the one
// that was known.
type refusal struct {
	event      *outgoing
	seq, epoch uint64 // of its condition
	err        error
}

// loader has the sessions of a partition that are being loaded. A session queues
// its inputs here and holds back no other session.
type loader struct {
	operations
	of      map[string]*loading
	bytes   int        // of all inputs that wait
	blocked []*loading // until the input log is found to be the same
}

// queue takes an input of a session that is being loaded.
func (o *loader) queue(l *loading, in *inputs.Input, rules *session.Rules) {
	l.inputs = append(l.inputs, waitingInput{*in, rules})
	size := len(in.Data) + waitingCost
	l.bytes += size
	o.bytes += size
}

func (o *loader) full() bool { return o.bytes >= maxWaiting }

func (o *loader) remove(l *loading) {
	delete(o.of, l.token)
	o.bytes -= l.bytes
}

// oldest returns the first input that waits, nil if none does.
func (o *loader) oldest() (in *inputs.Input) {
	for _, l := range o.of {
		if len(l.inputs) > 0 && (in == nil || l.inputs[0].Seq < in.Seq) {
			in = &l.inputs[0].Input
		}
	}
	return in
}

// load returns a session if it is live, or can be without a read: it is packed, or
// nothing of it is stored. Otherwise it begins to load the session, or joins a load that
// is under way, and returns what takes the session's inputs. The session must not be
// held.
func (q *partition) load(token string) (*resident, *loading) {
	e := q.table.of[token]
	if e != nil && e.live != nil {
		return e.live, nil
	}
	if l := q.loads.of[token]; l != nil {
		return nil, l
	}
	l := &loading{token: token, pos: q.reading.pos}
	if x := q.ends.of[token]; x != nil {
		delete(q.ends.of, token)
		l.end, l.first = x.end, x.input
	}
	epoch, now := q.log.Epoch(), time.Now()
	switch {
	case e != nil:
		e.covered = 0
		l.memory = q.unpack(e, now)
	case q.table.complete:
		l.memory = newResident(token, new(session.State), now)
		l.memory.log.epoch = epoch
	}
	if s := l.memory; s != nil && s.log.epoch == epoch && l.end == nil {
		q.attach(s)
		return s, nil
	}
	return nil, q.beginLoad(l)
}

// reload loads a live session again whose append was refused. Its state in memory is
// used if it fits what is stored.
func (q *partition) reload(s *resident, why *refusal) {
	if w := s.snapshot.write; w != nil && !w.sent {
		q.snapshots.end(w)
	}
	s.loading, s.entry.live = true, nil
	q.appender.queued -= s.log.bytes()
	q.beginLoad(&loading{token: s.token, pos: q.reading.pos, memory: s, refused: why})
}

func (q *partition) beginLoad(l *loading) *loading {
	q.loads.of[l.token] = l
	q.startLoad(l)
	return l
}

// startLoad starts the operation that loads a session, when the input log is known to be
// the same as before.
func (q *partition) startLoad(l *loading) {
	epoch := q.log.Epoch()
	if epoch != q.checked.epoch {
		q.loads.blocked = append(q.loads.blocked, l)
		q.checkLog()
		return
	}
	r := restorer{
		reports: q.reports, log: q.log, past: &q.past, epoch: epoch, rulesSeq: q.rules.Last().Seq,
		token: l.token, pos: l.pos, checkpoint: q.checkpoint.stored.Seq,
	}
	if epoch == q.ends.epoch {
		r.end = l.end
	}
	if l.memory != nil {
		memory := *l.memory // the partition still reads the other
		r.memory = &memory
	}
	if e := q.table.of[l.token]; e != nil && e.place.epoch == epoch {
		r.place = e.place
	}
	q.loads.start(func(ctx context.Context) any {
		s, err := r.run(ctx)
		return &loadResult{l, epoch, s, s != nil && s == r.memory, r.last, err}
	})
}

// unblockLoads starts the loads that waited until the input log was found to be the same.
func (q *partition) unblockLoads() {
	blocked := q.loads.blocked
	q.loads.blocked = nil
	for _, l := range blocked {
		q.startLoad(l)
	}
}

// loadResult is the result of a load.
type loadResult struct {
	loading *loading
	epoch   uint64
	session *resident
	fits    bool  // session is a copy of the one in memory, which fits
	last    point // event of the session that was found stored, if it was read
	err     error
}

func (q *partition) loadDone(d *loadResult) error {
	l, held := d.loading, (*heldError)(nil)
	switch {
	case d.epoch != q.log.Epoch():
		q.startLoad(l)
	case errors.As(d.err, &held):
		q.loads.remove(l)
		q.dropMemory(l)
		q.hold(l, held.reason)
	case d.err != nil && len(l.inputs) > 0:
		return fmt.Errorf("worker: input %d: %w", l.inputs[0].Seq, d.err)
	case d.err != nil:
		return d.err
	default:
		q.loads.remove(l)
		q.appender.know(d.last, l.token)
		if d.fits {
			l.memory.log, d.session = d.session.log, l.memory
		} else {
			q.dropMemory(l)
		}
		return q.resume(d.session, l)
	}
	return nil
}

// dropMemory drops the state in memory of a session that was loaded from what is stored.
func (q *partition) dropMemory(l *loading) {
	if s := l.memory; s != nil {
		s.gone = true
		if s.snapshot.write != nil {
			q.snapshots.end(s.snapshot.write)
		}
	}
}

// resume makes a session live that was loaded, and folds the inputs that waited for it.
func (q *partition) resume(s *resident, l *loading) error {
	repeated := l.refused != nil && s.log.seq == l.refused.seq && s.log.epoch == l.refused.epoch
	if l.memory != nil {
		s.log.refusals = l.memory.log.refusals
	}
	if !repeated {
		s.log.refusals = 0
	}
	s.loading = repeated && len(s.log.queue) > 0 // until the pause ends
	if len(s.log.ahead) > 0 {
		s.snapshot.change(l.pos, time.Now()) // no checkpoint covers their inputs before they are found
	}
	q.attach(s)
	if s.loading {
		q.appender.pause(s, l.refused)
	}
	q.now = time.Now()
	for i := range l.inputs {
		in := &l.inputs[i]
		if err := q.deliver(&in.Input, in.rules); err != nil {
			return fmt.Errorf("worker: input %d: %w", in.Seq, err)
		}
		*in = waitingInput{}
	}
	return nil
}

func (q *partition) attach(s *resident) {
	e := q.table.add(s.token)
	q.table.move(e, live, time.Now())
	e.live, e.place, s.entry = s, place{}, e
	q.table.setOpen(e, s.state.Life.Open())
	q.appender.queued += s.log.bytes()
	if s.unsaved() {
		q.snapshots.changed.add(s)
	}
	if len(s.log.ahead) > 0 {
		q.ahead = append(q.ahead, s)
	}
	q.clock.enter(s)
	q.appender.send(s)
}

// appendDone takes the outcome of appending an event. What was stored before the connection was
// lost counts only if the check of the logs begins after it is known.
func (q *partition) appendDone(o *outgoing, a broker.Ack) error {
	s := o.session
	switch {
	case s.gone:
	case a.Err == nil && a.Pub.Epoch == q.checked.epoch && !q.checked.checking:
		q.appender.acknowledge(s, o, a.Seq)
	case a.Err == nil, errors.Is(a.Err, broker.ErrConflict): // it was refused, or may have been lost since
		q.reload(s, &refusal{o, s.log.seq, a.Pub.Epoch, a.Err})
	case errors.Is(a.Err, broker.ErrClosed):
		return a.Err
	default:
		q.appender.stop(s, o, a.Err)
	}
	return nil
}
