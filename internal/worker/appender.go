package worker

import (
	"bytes"
	"fmt"
	"time"

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

	session *resident
	blobs   int       // chunks that are not stored yet
	at      time.Time // when it was published
}

func (o *outgoing) size() int {
	n := len(o.Body) + 256
	for i := range o.Blobs {
		n += len(o.Blobs[i].Data)
	}
	return n
}

// keptScratch bounds the buffer in bytes that is kept between events.
const keptScratch = 256 << 10

// bodies encodes events in memory that it reuses. The zero value is ready to use.
type bodies struct{ scratch []byte }

// of returns the body of an event in memory of its own, of no more than its length:
// events stay in memory until a snapshot covers them.
func (b *bodies) of(e *events.Event) ([]byte, error) {
	body, err := e.AppendBody(b.scratch[:0])
	if err != nil {
		return nil, err
	}
	if b.scratch = body; cap(body) > keptScratch {
		b.scratch = nil
	}
	return bytes.Clone(body), nil
}

func newOutgoing(s *resident, e *events.Event, trace map[string]string, b *bodies) (*outgoing, error) {
	body, err := b.of(e)
	if err != nil {
		return nil, err
	}
	return &outgoing{ID: e.EventID, Type: e.Type, Call: e.Call, Status: e.Status, Trace: trace, Body: body, Blobs: e.Blobs, session: s}, nil
}

// chunk is the Key of a publish that stores a piece of a blob of an event.
type chunk struct{ of *outgoing }

// appender appends events: one publish at a time per session, any number of
// sessions at once.
type appender struct {
	publisher
	reports
	messages  Messages
	queued    int // bytes of events that are not stored yet
	bodies    bodies
	event     events.Event // of append, which fills what a message needs: an Event is large
	paused    pausedAppends
	newest    events.Record // of the events of the partition that are known: Seq, ID, Token
	snapshots *snapshotWriter
}

// enqueue takes the events of an input and appends those that the log does not
// have yet.
func (a *appender) enqueue(s *resident, out []events.Event, trace map[string]string) error {
	l := &s.log
	for i := range out {
		o, err := newOutgoing(s, &out[i], trace, &a.bodies)
		if err != nil {
			return err
		}
		l.compare(o, s.token, &a.reports)
		if l.follow(o.ID) {
			continue // an owner stored it that may not have written a snapshot
		}
		l.queue = append(l.queue, o)
		a.queued += o.size()
		if len(l.queue) == 1 {
			a.send(s)
		}
	}
	return nil
}

// send publishes the first event of a session's queue, its blobs before it. It
// does nothing while the head of the session's log is being read.
func (a *appender) send(s *resident) {
	if len(s.log.queue) == 0 || s.loading {
		return
	}
	o := s.log.queue[0]
	for i := range o.Blobs {
		for _, p := range a.messages.BlobPubs(o.Blobs[i]) {
			p.Key = chunk{o}
			o.blobs++
			a.publish(p)
		}
	}
	if o.blobs == 0 {
		a.append(o)
	}
}

func (a *appender) append(o *outgoing) {
	s := o.session
	a.event.Type, a.event.EventID, a.event.Call = o.Type, o.ID, o.Call
	p := a.messages.EventPub(s.token, &a.event, o.Body, o.Trace, s.log.seq)
	p.Key, p.Epoch = o, s.log.epoch
	o.at = time.Now()
	a.publish(p)
}

// acknowledgeChunk takes the outcome of storing a piece of a blob. The event follows
// its last piece.
func (a *appender) acknowledgeChunk(o *outgoing, err error) error {
	if err != nil {
		return fmt.Errorf("worker: storing a blob of event %s: %w", o.ID, err)
	}
	if o.blobs--; o.blobs == 0 && !o.session.gone {
		a.append(o)
	}
	return nil
}

// acknowledge notes that the first event of a session's queue is stored at seq.
func (a *appender) acknowledge(s *resident, o *outgoing, seq uint64) {
	now := time.Now()
	l := &s.log
	l.seq, l.id, l.acked, l.refusals = seq, o.ID, now, 0
	a.know(point{seq, o.ID}, s.token)
	a.status.count(o)
	a.observer.EventStored(Stored{a.partition, s.token, o.Type, o.Call, o.Status, o.Body, o.Trace, now.Sub(o.at)})
	a.queued -= l.shift().size()
	a.snapshots.headStored(s, point{seq, o.ID}, now)
	a.send(s)
}

func (a *appender) know(e point, token string) {
	if e.Seq > a.newest.Seq {
		a.newest.Seq, a.newest.ID, a.newest.Token = e.Seq, e.ID, token
	}
}

// stop notes that the server refuses an event for good. The session stops and
// other sessions go on.
func (a *appender) stop(s *resident, o *outgoing, why error) {
	a.status.refused.Add(1)
	a.logger.Error().Err(why).Str("session", s.token).Stringer("event", o.ID).Msg("event refused")
	s.log.stuck = true
}
