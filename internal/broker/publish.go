package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// noticedTry is the try of a publish after which a notice reports it.
const noticedTry = 5

// ackWait is how long a publish waits for its answer before it is sent again.
const ackWait = 3 * time.Second

// resendPace is the minimum time between two checks for publishes that are due.
const resendPace = 20 * time.Millisecond

// Pub is a message to publish. It must not be changed until its Ack is there.
type Pub struct {
	Subject string
	Header  nats.Header
	Data    []byte
	Key     any // for the caller's use
	// RefuseFull selects ErrFull as the outcome where the stream is full. Otherwise
	// the publish waits.
	RefuseFull bool
	// Epoch is the connection epoch in which the condition was learned, 0 if the epoch
	// does not matter. In another epoch the publish is refused as a conflict, without
	// being sent.
	Epoch uint64
}

// Ack is the outcome of a Pub.
type Ack struct {
	Pub       *Pub
	Seq       uint64 // in its stream, where Err is nil
	Duplicate bool   // the Nats-Msg-Id is known: Seq is that of the first message
	// Err is nil, or Is one of ErrConflict, ErrTooLarge, ErrRefused, ErrFull and
	// ErrClosed. With ErrClosed the message may be stored.
	Err error
}

// Publish sends p and puts exactly one Ack into acks: stored, definitively refused,
// or closed. Until then it sends p again after every uncertain outcome. It blocks
// only while the connection's buffer is full. acks needs capacity for all that its
// sender has in flight, or the order of the Acks is lost.
func (b *Broker) Publish(p *Pub, acks chan<- Ack) { b.pubs.publish(p, acks) }

// Epoch returns the connection epoch, which grows with each connection. An event
// that was read in an earlier epoch may have been lost with its server.
func (b *Broker) Epoch() uint64 {
	b.pubs.mu.Lock()
	defer b.pubs.mu.Unlock()
	return b.pubs.epoch
}

// PublishWait sends p and waits for its outcome. If ctx ends first, p is not sent
// again, Err is ctx's error, and p may or may not be stored.
func (b *Broker) PublishWait(ctx context.Context, p *Pub) Ack {
	acks := make(chan Ack, 1)
	id := b.pubs.publish(p, acks)
	select {
	case a := <-acks:
		return a
	case <-ctx.Done():
		why := b.pubs.giveUp(id)
		return Ack{Pub: p, Err: errors.Join(ctx.Err(), why)}
	}
}

// publisher keeps the publishes in flight. Their replies arrive in one inbox of its
// own: the asynchronous publish of the library drops acks silently, fails all that
// is pending at a disconnection, and retries out of order.
type publisher struct {
	nc      *nats.Conn
	trouble func(kind, msg string, err error)
	inbox   string // ends with a dot; the number of the flight follows
	pulses  string // the subject of the answers to pulses
	sub     *nats.Subscription
	resent  *atomic.Uint64
	outages outages
	wake    chan struct{} // some publishes may be due
	done    chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	answers [len(outageStreams) + 1]answers // of each stream, those of unknown streams last
	epoch   uint64                          // counts connections
	flights map[uint64]*flight
	last    uint64
	probing uint64 // the last probe's flight
	closed  bool
}

func newPublisher(nc *nats.Conn, trouble func(kind, msg string, err error), resent *atomic.Uint64, down *downtime) (*publisher, error) {
	p := &publisher{
		nc: nc, trouble: trouble, resent: resent, inbox: nc.NewInbox() + ".", pulses: nc.NewInbox(),
		wake: make(chan struct{}, 1), done: make(chan struct{}), flights: map[uint64]*flight{}, epoch: 1,
		outages: outages{down: down},
	}
	var err error
	if p.sub, err = nc.Subscribe(p.inbox+"*", p.reply); err != nil {
		return nil, fmt.Errorf("broker: subscribing to acknowledgements: %w", err)
	}
	_ = p.sub.SetPendingLimits(-1, -1) // bounded by what is in flight
	if _, err = nc.Subscribe(p.pulses, down.pulsed); err != nil {
		return nil, fmt.Errorf("broker: subscribing to answers to pulses: %w", err)
	}
	p.ended.Go(p.resendLoop)
	return p, nil
}

func (p *publisher) publish(pub *Pub, acks chan<- Ack) (no uint64) {
	now := time.Now()
	f := &flight{pub: pub, acks: acks, sent: now, tried: now, due: now.Add(ackWait), stream: streamOf(pub.Subject)}
	if f.stream < 0 {
		f.stream = len(p.answers) - 1
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		answerTo(f, Ack{Err: ErrClosed})
		return 0
	}
	if pub.Epoch != 0 && pub.Epoch != p.epoch {
		p.mu.Unlock()
		answerTo(f, Ack{Err: errEpoch})
		return 0
	}
	p.last++
	f.no, f.place = p.last, p.last
	p.flights[f.no] = f
	first := len(p.flights) == 1
	no = f.no
	p.mu.Unlock()
	if first {
		p.poke()
	}
	p.send(pub, no, no)
	return no
}

// send sends a try of a flight. Unless that fails definitively, the flight waits for its
// reply or for the next try.
func (p *publisher) send(pub *Pub, no, place uint64) {
	// The server drops a publish on such a subject silently.
	if !publishable(pub.Subject) {
		p.finish(no, Ack{Err: fmt.Errorf("%w: %q is no subject to publish on", ErrRefused, pub.Subject)})
		return
	}
	err := p.nc.PublishMsg(&nats.Msg{Subject: pub.Subject, Header: pub.Header, Data: pub.Data, Reply: p.replyTo(no, place)})
	switch {
	case err == nil:
	case errors.Is(err, nats.ErrMaxPayload):
		p.finish(no, Ack{Err: fmt.Errorf("%w: %d bytes on %s, the server takes %d", ErrTooLarge, len(pub.Data), pub.Subject, p.nc.MaxPayload())})
	case errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrInvalidMsg), errors.Is(err, nats.ErrBadHeaderMsg), errors.Is(err, nats.ErrHeadersNotSupported):
		p.finish(no, Ack{Err: fmt.Errorf("%w: %s: %w", ErrRefused, pub.Subject, err)})
	default: // no connection, or a full buffer
		p.later(no, err)
	}
}

// reply handles an acknowledgement, a refusal, or the report that the subject has no
// subscriber.
func (p *publisher) reply(m *nats.Msg) {
	no, place, ok := p.tryOf(m.Subject)
	if !ok {
		return
	}
	if status := m.Header.Get("Status"); status != "" { // 503: the stream is offline or has no leader
		p.later(no, nats.ErrNoResponders)
		return
	}
	if seq, ok := plainAck(m.Data); ok {
		p.answer(no, place, Ack{Seq: seq})
		return
	}
	p.heard(no, place)
	var ack struct {
		failure
		Stream    string `json:"stream"`
		Seq       uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		p.later(no, fmt.Errorf("unreadable acknowledgement: %w", err))
		return
	}
	switch e := ack.Err; {
	case e == nil && ack.Seq > 0:
		p.finish(no, Ack{Seq: ack.Seq, Duplicate: ack.Duplicate})
	case e == nil:
		p.later(no, errors.New("acknowledgement without a sequence"))
	case e.ErrCode == codeWrongLastSequence:
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrConflict, e)})
	case e.full():
		p.full(no, e)
	case e.ErrCode == codeMessageTooLarge:
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrTooLarge, e)})
	case e.uncertain():
		p.later(no, e)
	default:
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrRefused, e)})
	}
}

// heard notes that a stream answered a try of a flight.
func (p *publisher) heard(no, place uint64) {
	p.mu.Lock()
	f := p.flights[no]
	poke := f != nil && p.answered(f, place, time.Now())
	p.mu.Unlock()
	if poke {
		p.poke()
	}
}

// plainAck parses the most frequent answer, which servers write without
// encoding/json: {"stream":"…","seq":…}, or with a domain between. Any other answer,
// such as that of a duplicate, is not ok.
func plainAck(data []byte) (seq uint64, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"stream":"`))
	if !ok || bytes.ContainsFunc(rest, func(r rune) bool { return r < ' ' || r == '\\' }) {
		return 0, false
	}
	_, rest, _ = bytes.Cut(rest, []byte(`"`))
	if domain, ok := bytes.CutPrefix(rest, []byte(`,"domain":"`)); ok {
		_, rest, _ = bytes.Cut(domain, []byte(`"`))
	}
	rest, ok = bytes.CutPrefix(rest, []byte(`,"seq":`))
	digits, end := bytes.CutSuffix(rest, []byte(`}`))
	if !ok || !end || len(digits) == 0 || digits[0] == '0' {
		return 0, false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, err == nil
}

// finish answers a flight, unless that has been answered.
func (p *publisher) finish(no uint64, a Ack) { p.answer(no, 0, a) }

// answer is finish where place is that of the try that the stream answered, 0 if there
// is none.
func (p *publisher) answer(no, place uint64, a Ack) {
	p.mu.Lock()
	f := p.flights[no]
	delete(p.flights, no)
	poke := f != nil && place > 0 && p.answered(f, place, time.Now())
	p.mu.Unlock()
	if f == nil {
		return
	}
	if poke {
		p.poke()
	}
	if a.Err == nil {
		p.outages.stored(f, time.Now())
	}
	answerTo(f, a)
}

// full handles the refusal of a stream that is full.
func (p *publisher) full(no uint64, why error) {
	p.mu.Lock()
	f := p.flights[no]
	refuse := f != nil && f.pub.RefuseFull
	if refuse {
		f.why = why
	}
	p.mu.Unlock()
	if !refuse {
		p.later(no, why)
		return
	}
	_ = p.giveUp(no) // which returns why
	answerTo(f, Ack{Err: fmt.Errorf("%w: %w", ErrFull, why)})
}

// answerTo answers a flight. It never blocks: one caller without capacity must not
// delay the others.
func answerTo(f *flight, a Ack) {
	a.Pub = f.pub
	select {
	case f.acks <- a:
	default:
		go func() { f.acks <- a }()
	}
}

// later sets the time at which a flight is sent again.
func (p *publisher) later(no uint64, why error) {
	p.mu.Lock()
	f := p.flights[no]
	var subject string
	if f != nil {
		f.due = time.Now().Add(backoff(f.try))
		f.try++
		f.why, f.failed = why, true
		subject = f.pub.Subject
		p.outages.failed(f, why, time.Now())
	}
	noticed := f != nil && f.try == noticedTry
	p.mu.Unlock()
	if noticed {
		p.trouble(noAck, "publish on "+subject+" is not acknowledged yet", why)
	}
	p.poke()
}

// giveUpSign is how long a publish must have waited without an answer to count as
// failed when its caller gives up. A caller can also end for other reasons.
const giveUpSign = time.Second

// giveUp removes a flight, so that it is not sent again, and returns why it is not
// stored, nil if that is unknown.
func (p *publisher) giveUp(no uint64) error {
	p.mu.Lock()
	f := p.flights[no]
	delete(p.flights, no)
	p.mu.Unlock()
	now := time.Now()
	if f == nil || f.why == nil && now.Sub(f.sent) < giveUpSign {
		return nil
	}
	p.outages.failed(f, cmp.Or(f.why, errSilentAck), now)
	p.probe(f.pub.Subject)
	return f.why
}

// forbid ends the flights on a subject that the server forbids.
func (p *publisher) forbid(subject string, why error) {
	p.mu.Lock()
	var nos []uint64
	for no, f := range p.flights {
		if f.pub.Subject == subject {
			nos = append(nos, no)
		}
	}
	p.mu.Unlock()
	for _, no := range nos {
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrRefused, why)})
	}
}

// resendAll makes all flights due: their acks are lost with the old connection. A
// Pub with an Epoch is answered as a conflict instead. A server that lost power
// assigns sequences again, and the condition could then hold for another event than
// intended. Its sender reads the log.
func (p *publisher) resendAll() {
	var back []uint64
	p.mu.Lock()
	p.epoch++
	for no, f := range p.flights {
		f.due = time.Time{}
		if f.pub.Epoch != 0 {
			back = append(back, no)
		}
	}
	p.mu.Unlock()
	for _, no := range back {
		p.finish(no, Ack{Err: errEpoch})
	}
	p.poke()
}

var errEpoch = fmt.Errorf("%w, perhaps: the connection was lost since it was learned", ErrConflict)

func (p *publisher) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// resendLoop sends the flights that are due again.
func (p *publisher) resendLoop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		case <-timer.C:
		}
		due, next := p.due(time.Now())
		p.resent.Add(uint64(len(due)))
		for _, f := range due {
			p.send(f.pub, f.no, f.place)
		}
		if p.pause() != nil {
			return
		}
		timer.Reset(next)
	}
}

// pause limits how often failing flights are checked.
func (p *publisher) pause() error {
	t := time.NewTimer(resendPace)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.done:
		return ErrClosed
	}
}

func (p *publisher) close() {
	p.mu.Lock()
	left := p.flights
	p.flights = map[uint64]*flight{}
	wasClosed := p.closed
	p.closed = true
	p.mu.Unlock()
	if wasClosed {
		return
	}
	close(p.done)
	p.ended.Wait()
	for _, f := range left {
		answerTo(f, Ack{Err: ErrClosed})
	}
}
