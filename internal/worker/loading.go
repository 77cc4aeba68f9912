package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
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
	n     uint64         // number under which it is folded
	rules *session.Rules // in force when it was read
}

// loading is a session that is being loaded.
type loading struct {
	token  string
	pos    uint64 // all inputs of the session from it on wait here
	inputs []waitingInput
	bytes  int
	// first is the first input below pos that may be missing from the snapshot, 0 if
	// none is: it was folded in memory and has to be again. The checkpoint is held back.
	first uint64
	// lacking: a listing found that the event log lacks events of the session.
	lacking bool
	// rewinds are those of this session where its load showed one; else nil.
	rewinds broker.Rewinds
}

// loader has the sessions of a partition that are being loaded. A session queues
// its inputs here and holds back no other session.
type loader struct {
	operations
	of    map[string]*loading
	bytes int       // of all inputs that wait
	ready []*loaded // loaded while nothing may be folded
}

// queue takes an input of a session that is being loaded.
func (o *loader) queue(l *loading, in *inputs.Input, n uint64, rules *session.Rules) {
	l.inputs = append(l.inputs, waitingInput{*in, n, rules})
	size := len(in.Data) + waitingCost
	l.bytes += size
	o.bytes += size
}

// full reports whether no more inputs are taken before some sessions are loaded.
func (o *loader) full() bool { return o.bytes >= maxWaiting }

// remove ends the loading of a session.
func (o *loader) remove(l *loading) {
	delete(o.of, l.token)
	o.bytes -= l.bytes
}

// first returns the first input that the checkpoint must not pass.
func (o *loader) first() (seq uint64, ok bool) {
	for _, l := range o.of {
		if l.first != 0 && (!ok || l.first < seq) {
			seq, ok = l.first, true
		}
		if len(l.inputs) > 0 && (!ok || l.inputs[0].Seq < seq) {
			seq, ok = l.inputs[0].Seq, true
		}
	}
	return seq, ok
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

// behind reports whether inputs below pos may be missing from the snapshot.
func (l *loading) behind() bool { return l.first != 0 }

// renumber takes a rewind that the load of a session showed. It is recorded from a
// later input on than first, because inputs of other sessions were folded meanwhile
// and keep their numbers. For this session it begins at first: the session may have
// folded lost inputs under the numbers of those that wait.
func (l *loading) renumber(rewinds broker.Rewinds, first uint64) {
	l.rewinds = slices.Clone(rewinds)
	last := &l.rewinds[len(l.rewinds)-1]
	last.From = min(last.From, first)
	for i := range l.inputs {
		l.inputs[i].n = l.rewinds.Effective(l.inputs[i].Seq)
	}
}

// basis is what a load relies on. Where it does not hold any more when the load
// has finished, the session is loaded again.
type basis struct {
	epoch   uint64 // of the connection
	rewinds broker.Rewinds
}

// loaded is the outcome of a load.
type loaded struct {
	basis
	loading *loading
	session *resident
	genuine uint64
	err     error
}

// load returns a session if it is in memory, compressed or not, or if nothing of it
// is known to be stored: then it is assumed to be new, and a conflict shows where
// that is wrong.
// Otherwise it begins to load the session, or joins a load that is under way, and
// returns what takes the session's inputs. The session must not be held.
func (q *partition) load(ctx context.Context, token string) (*resident, *loading) {
	if s := q.sessions.resident[token]; s != nil {
		return s, nil
	}
	if l := q.loads.of[token]; l != nil {
		return nil, l
	}
	if s := q.sessions.compressed.take(token, q.log.Epoch); s != nil {
		q.sessions.attach(s)
		return s, nil
	}
	if !q.sessions.known.has(token) {
		now := time.Now()
		s := &resident{token: token, state: new(session.State), touched: now, known: now, fresh: true}
		s.log.epoch = q.log.Epoch()
		q.sessions.attach(s)
		return s, nil
	}
	return nil, q.beginLoad(ctx, &loading{token: token, pos: q.reading.pos})
}

// reload drops a resident session, of which another worker stored something, and loads
// it again. What is stored may lack inputs that were folded in memory.
func (q *partition) reload(ctx context.Context, s *resident) {
	q.sessions.drop(s)
	q.beginLoad(ctx, &loading{token: s.token, pos: q.reading.pos, first: max(q.checkpoint.stored.Seq, 1)})
}

func (q *partition) beginLoad(ctx context.Context, l *loading) *loading {
	q.loads.of[l.token] = l
	q.startLoad(ctx, l)
	return l
}

// startLoad starts the operation that loads a session.
func (q *partition) startLoad(ctx context.Context, l *loading) {
	r := restorer{
		reports: q.reports, all: q.log, partition: q.p, past: &q.history.past,
		inputCheck: q.inputCheck(), pos: l.pos, checkpoint: q.checkpoint.stored.Seq, behind: l.behind(),
		epoch: q.log.Epoch(), rulesSeq: q.rules.Last().Seq, least: q.sessions.known.rev(l.token),
	}
	if place, ok := q.sessions.places.of(l.token); ok {
		r.place = &place
	}
	b := basis{r.epoch, r.rewinds}
	if l.rewinds != nil {
		r.rewinds = l.rewinds
	}
	q.loads.start(ctx, func(ctx context.Context) completion {
		s, err := r.run(ctx, l.token)
		return &loaded{basis: b, loading: l, session: s, genuine: r.genuine, err: err}
	})
}

func (d *loaded) apply(ctx context.Context, q *partition) error {
	ok, err := q.mayFold(ctx)
	if err != nil {
		return err
	}
	held, rewound := (*heldError)(nil), (*rewoundError)(nil)
	switch {
	case !ok:
		q.loads.ready = append(q.loads.ready, d)
	case d.epoch != q.log.Epoch() || !d.rewinds.Equal(q.history.rewinds):
		q.startLoad(ctx, d.loading)
	case errors.As(d.err, &rewound):
		q.history.found = &foundRewind{rewound.evidence, d.loading}
		q.loads.ready = append(q.loads.ready, d) // it is loaded again then
		return q.rewindIfFound(ctx)
	case errors.As(d.err, &held):
		q.hold(d.loading, held.reason)
	case d.err != nil:
		return d.loading.failed(d.err)
	default:
		q.history.genuine = max(q.history.genuine, d.genuine)
		return q.finishLoad(d)
	}
	return nil
}

// failed adds to the error of a load the first input that needed the session.
func (l *loading) failed(err error) error {
	if len(l.inputs) == 0 {
		return err
	}
	return fmt.Errorf("worker: input %d: %w", l.inputs[0].Seq, err)
}

// finishLoad brings a session that was loaded into memory and folds the inputs
// that waited for it.
func (q *partition) finishLoad(d *loaded) error {
	l := d.loading
	q.loads.remove(l)
	s := d.session
	q.snapshots.newest = max(q.snapshots.newest, s.snapshot.rev)
	q.sessions.attach(s)
	q.now = time.Now()
	for i := range l.inputs {
		in := &l.inputs[i]
		if err := q.fold(s, &in.Input, in.n, in.rules); err != nil {
			return fmt.Errorf("worker: input %d: %w", in.Seq, err)
		}
		*in = waitingInput{}
	}
	if l.lacking && len(s.log.queue) == 0 && s.snapshot.write == nil {
		// It lacks nothing any more: unless a snapshot shows that, every listing
		// would load it again.
		q.snapshots.begin(s, time.Now())
	}
	return nil
}

// hold notes that a session that was to be loaded is held.
func (q *partition) hold(l *loading, reason string) {
	q.loads.remove(l)
	h := &held{reason: reason}
	if l.behind() { // its inputs that were folded in memory are lost with that
		h.first = l.first
	} else if len(l.inputs) > 0 {
		h.first = l.inputs[0].Seq
	}
	q.held.add(l.token, h)
	q.clock.clear(l.token)
}

// awaitLoads waits until no session is being loaded.
func (q *partition) awaitLoads(stop, working context.Context) error {
	for len(q.loads.of) > 0 {
		select {
		case f := <-q.done:
			if err := q.complete(working, f); err != nil {
				return err
			}
		case <-stop.Done():
			return stop.Err()
		}
	}
	return nil
}
