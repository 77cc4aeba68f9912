package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// outgoing is an event on its way to the log.
type outgoing struct {
	ID   events.ID
	Type events.Type
	Call string
	// Status is a result's.
	Status events.Status
	Trace  map[string]string
	Body   []byte
	Blobs  []events.Blob
	Seq    uint64 // in the event log, once it is stored

	session *live
	blobs   int       // chunks that are not stored yet
	at      time.Time // when it was acknowledged
}

func (o *outgoing) size() int {
	n := len(o.Body) + 256
	for i := range o.Blobs {
		n += len(o.Blobs[i].Data)
	}
	return n
}

func newOutgoing(l *live, e *events.Event, trace map[string]string) (*outgoing, error) {
	body, err := e.Body()
	if err != nil {
		return nil, err
	}
	return &outgoing{ID: e.EventID, Type: e.Type, Call: e.Call, Status: e.Status, Trace: trace, Body: body, Blobs: e.Blobs, session: l}, nil
}

// chunk is the Key of a publish that stores a piece of a blob of an event.
type chunk struct{ of *outgoing }

// queue takes the events an input gave, to append those that the chain does
// not have yet.
func (q *partition) queue(l *live, out []events.Event, trace map[string]string) error {
	for i := range out {
		o, err := newOutgoing(l, &out[i], trace)
		if err != nil {
			return err
		}
		q.compare(o)
		if !o.ID.After(l.id) {
			// It is stored already, by an owner that may not have saved: keep
			// it as long as a power loss may take it.
			o.at, o.Seq = time.Now(), l.chain
			l.acked = append(l.acked, *o)
			continue
		}
		l.queue = append(l.queue, o)
		q.queued += o.size()
		if len(l.queue) == 1 {
			q.send(l)
		}
	}
	return nil
}

// send publishes the first event of a session's queue, its blobs before it.
// One publish is in flight per session.
func (q *partition) send(l *live) {
	if len(l.queue) == 0 {
		return
	}
	o := l.queue[0]
	for i := range o.Blobs {
		for _, p := range q.log.BlobPubs(o.Blobs[i]) {
			p.Key = chunk{o}
			o.blobs++
			q.publish(p)
		}
	}
	if o.blobs == 0 {
		q.append(o)
	}
}

func (q *partition) append(o *outgoing) {
	l := o.session
	e := events.Event{Type: o.Type, EventID: o.ID, Call: o.Call}
	p := q.log.EventPub(l.token, &e, o.Body, o.Trace, l.chain)
	p.Key, p.Epoch = o, l.epoch
	q.publish(p)
}

// publish sends anything of the partition's; its outcome comes to acked.
func (q *partition) publish(p *broker.Pub) {
	q.flying++
	q.log.Publish(p, q.acks)
}

// abandon lets the outcomes that still come go to nobody: whoever hands them
// over must not wait for ever.
func (q *partition) abandon() {
	n := q.flying
	go func() {
		for range n {
			<-q.acks
		}
	}()
}

// acked takes the outcome of any publish of the partition.
func (q *partition) acked(ctx context.Context, a broker.Ack) error {
	q.flying--
	switch key := a.Pub.Key.(type) {
	case *outgoing:
		return q.appended(ctx, key, a)
	case chunk:
		if a.Err != nil {
			return fmt.Errorf("worker: storing a blob of event %s: %w", key.of.ID, a.Err)
		}
		if key.of.blobs--; key.of.blobs == 0 && !key.of.session.gone {
			q.append(key.of)
		}
	case *save:
		return q.saved(ctx, key, a)
	case ask:
		if errors.Is(a.Err, broker.ErrConflict) {
			return nil // the connection was lost before it was stored: asked again later
		}
		if a.Err != nil {
			return fmt.Errorf("worker: clock input for session %q: %w", key.token, a.Err)
		}
	case nil:
		if a.Err != nil {
			return fmt.Errorf("worker: publishing %s: %w", a.Pub.Subject, a.Err)
		}
	}
	return nil
}

func (q *partition) appended(ctx context.Context, o *outgoing, a broker.Ack) error {
	l := o.session
	if l.gone {
		return nil
	}
	switch {
	case a.Err == nil:
		l.chain, l.id, l.fresh, l.futile = a.Seq, o.ID, false, 0
		q.m.stored(o)
		q.shift(l, a.Seq)
	case errors.Is(a.Err, broker.ErrConflict) && l.fresh:
		return q.conflicted(ctx, l)
	case errors.Is(a.Err, broker.ErrConflict):
		was := l.chain
		if err := q.adopt(ctx, l); err != nil {
			return err
		}
		if l.chain == was && l.epoch == a.Pub.Epoch && len(l.queue) > 0 {
			q.futile(l, o.ID, a.Err)
			return nil
		}
		l.futile = 0
	case errors.Is(a.Err, broker.ErrClosed):
		return a.Err
	default:
		// The server refuses it for good. The session stands still, with all
		// it has to say kept in its state; the others do not.
		q.m.refused.Add(1)
		q.z.Error().Err(a.Err).Str("session", l.token).Stringer("event", o.ID).Msg("event refused")
		l.stuck = true
		return nil
	}
	q.send(l)
	return nil
}

// adopt reads where a session's chain ends and goes on behind that. Somebody
// else may have extended it, or a try of ours whose ack was lost; or the server
// lost what it had acknowledged: then that is appended again.
func (q *partition) adopt(ctx context.Context, l *live) error {
	l.epoch = q.log.Epoch()
	known := l.id
	if err := q.chainEnd(ctx, l); err != nil {
		return err
	}
	if known.After(l.id) {
		id := l.id
		l.id, l.found = known, found{}
		return q.again(l, id)
	}
	if l.id == known {
		l.found = found{}
	}
	for len(l.queue) > 0 && !l.queue[0].ID.After(l.id) {
		q.m.adopted.Add(1)
		q.compare(l.queue[0])
		q.shift(l, l.chain)
	}
	if len(l.queue) > 0 {
		q.compare(l.queue[0])
	}
	return nil
}

// errShort is returned where the event log lost events of a session in memory
// that are not kept: the partition begins again and folds their inputs again.
var errShort = errors.New("worker: the event log lost events")

// again queues the stored events that the chain lacks after id.
func (q *partition) again(l *live, id events.ID) error {
	if l.base.ID.After(id) {
		return fmt.Errorf("%w: session %q: its chain ends at event %s, memory reaches back to %s", errShort, l.token, id, l.base.ID)
	}
	n := len(l.acked)
	for n > 0 && l.acked[n-1].ID.After(id) {
		n--
	}
	var queue []*outgoing
	for i := range l.acked[n:] {
		o := l.acked[n+i]
		o.blobs = 0
		q.queued += o.size()
		queue = append(queue, &o)
	}
	l.acked, l.queue, l.id = l.acked[:n:n], append(queue, l.queue...), id
	return nil
}

// unstick tries again what was refused: permissions and limits change.
func (q *partition) unstick() {
	for _, l := range q.live {
		if l.stuck {
			l.stuck = false
			q.send(l)
		}
	}
}

// shift takes the first event off a session's queue: it is stored.
func (q *partition) shift(l *live, seq uint64) {
	o := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	q.queued -= o.size()
	o.at, o.Seq = time.Now(), seq
	l.acked = append(l.acked, *o)
	if len(l.queue) == 0 {
		l.queue = nil
	}
	q.trim(l, o.at)
}

// trim forgets acknowledged events that no power loss can take any more.
func (q *partition) trim(l *live, now time.Time) {
	n := 0
	for n < len(l.acked) && now.Sub(l.acked[n].at) > q.opts.KeepAcked {
		l.base = point{l.acked[n].Seq, l.acked[n].ID}
		n++
	}
	clear(l.acked[:n]) // or the array would hold their bodies
	l.acked = l.acked[n:]
	if len(l.acked) == 0 {
		l.acked = nil
	}
}
