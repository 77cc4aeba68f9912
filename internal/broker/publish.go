package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// ackWait is how long the answer to a publish may take before the same is sent
// again.
const ackWait = 3 * time.Second

// resendPace is the least time between two looks at what is due.
const resendPace = 20 * time.Millisecond

// Pub is a message to publish. It must not be changed until its Ack is there.
type Pub struct {
	Subject string
	Header  nats.Header
	Data    []byte
	Key     any // the caller's, untouched
	// RefuseFull makes a stream that is full an outcome, ErrFull, instead of
	// something to wait for.
	RefuseFull bool
	// Epoch is the Broker's Epoch in which its condition was learned; 0 if that
	// does not matter. In another one it is refused unsent, as a conflict.
	Epoch uint64
}

// Ack is the outcome of a Pub.
type Ack struct {
	Pub       *Pub
	Seq       uint64 // in its stream, where Err is nil
	Duplicate bool   // the Nats-Msg-Id was known: Seq is the first one's
	// Err is nil, or Is one of ErrConflict, ErrTooLarge, ErrRefused, ErrFull,
	// ErrClosed (it is unknown whether it is stored).
	Err error
}

// Publish sends p and puts exactly one Ack into acks: stored, definitively
// refused, or closed. Until then it is sent again after every uncertain
// outcome. It waits for nothing but room in the connection's buffer. acks
// should have room for all its sender has in flight, or their order is lost.
func (b *Broker) Publish(p *Pub, acks chan<- Ack) { b.pubs.publish(p, acks) }

// Epoch counts the connections there were. What was read of the logs in an
// earlier one may have been lost with its server.
func (b *Broker) Epoch() uint64 {
	b.pubs.mu.Lock()
	defer b.pubs.mu.Unlock()
	return b.pubs.epoch
}

// PublishWait sends p and waits for its outcome. If ctx ends before, p is sent
// no more, Err is ctx's error and nobody knows whether p is stored.
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

// publisher keeps what is in flight. Replies come to one inbox of its own: the
// library's asynchronous publish drops acks without a word, fails all that is
// pending at a disconnection, and retries out of order.
type publisher struct {
	nc      *nats.Conn
	trouble func(kind, msg string, err error)
	inbox   string // with a dot at the end; the flight's number follows
	sub     *nats.Subscription
	resent  *atomic.Uint64
	outages outages
	wake    chan struct{} // there may be something to send again
	done    chan struct{}
	ended   sync.WaitGroup

	mu      sync.Mutex
	epoch   uint64 // counts connections
	flights map[uint64]*flight
	last    uint64
	probing uint64 // the last probe's flight
	closed  bool
}

type flight struct {
	msg  nats.Msg
	pub  *Pub
	acks chan<- Ack
	no   uint64
	try  int
	sent time.Time // for the first time
	due  time.Time // when it is sent again
	why  error     // it is not stored yet, as far as that is known
}

func newPublisher(nc *nats.Conn, trouble func(kind, msg string, err error), resent *atomic.Uint64, down *downtime) (*publisher, error) {
	p := &publisher{
		nc: nc, trouble: trouble, resent: resent, inbox: nc.NewInbox() + ".",
		wake: make(chan struct{}, 1), done: make(chan struct{}), flights: map[uint64]*flight{}, epoch: 1,
		outages: outages{down: down},
	}
	var err error
	if p.sub, err = nc.Subscribe(p.inbox+"*", p.reply); err != nil {
		return nil, fmt.Errorf("broker: subscribing to acknowledgements: %w", err)
	}
	_ = p.sub.SetPendingLimits(-1, -1) // bounded by what is in flight
	p.ended.Go(p.resendLoop)
	return p, nil
}

func (p *publisher) publish(pub *Pub, acks chan<- Ack) (no uint64) {
	now := time.Now()
	f := &flight{pub: pub, acks: acks, sent: now, due: now.Add(ackWait)}
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
	f.no = p.last
	f.msg = nats.Msg{Subject: pub.Subject, Header: pub.Header, Data: pub.Data, Reply: p.inbox + strconv.FormatUint(f.no, 36)}
	p.flights[f.no] = f
	first := len(p.flights) == 1
	p.mu.Unlock()
	if first {
		p.poke()
	}
	p.send(f)
	return f.no
}

// send puts a flight on the wire. What cannot be said to have failed for good
// waits for its next turn.
func (p *publisher) send(f *flight) {
	// The server drops a publish on such a subject without a word.
	if !publishable(f.pub.Subject) {
		p.finish(f.no, Ack{Err: fmt.Errorf("%w: %q is no subject to publish on", ErrRefused, f.pub.Subject)})
		return
	}
	err := p.nc.PublishMsg(&f.msg)
	switch {
	case err == nil:
	case errors.Is(err, nats.ErrMaxPayload):
		p.finish(f.no, Ack{Err: fmt.Errorf("%w: %d bytes on %s, the server takes %d", ErrTooLarge, len(f.pub.Data), f.pub.Subject, p.nc.MaxPayload())})
	case errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrInvalidMsg), errors.Is(err, nats.ErrBadHeaderMsg), errors.Is(err, nats.ErrHeadersNotSupported):
		p.finish(f.no, Ack{Err: fmt.Errorf("%w: %s: %w", ErrRefused, f.pub.Subject, err)})
	default: // no connection, or a full buffer
		p.later(f.no, err)
	}
}

// reply hears an acknowledgement, a refusal, or that nobody listens.
func (p *publisher) reply(m *nats.Msg) {
	no, err := strconv.ParseUint(m.Subject[len(p.inbox):], 36, 64)
	if err != nil {
		return
	}
	if status := m.Header.Get("Status"); status != "" { // 503: the stream is offline or has no leader
		p.later(no, nats.ErrNoResponders)
		return
	}
	if seq, ok := plainAck(m.Data); ok {
		p.finish(no, Ack{Seq: seq})
		return
	}
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

// plainAck reads what nearly every answer is, and what servers write without
// encoding/json as well: {"stream":"…","seq":…}, or with a domain between. All
// else, a duplicate too, is not ok.
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

// finish answers a flight, unless it is answered already.
func (p *publisher) finish(no uint64, a Ack) {
	p.mu.Lock()
	f := p.flights[no]
	delete(p.flights, no)
	p.mu.Unlock()
	if f == nil {
		return
	}
	if a.Err == nil {
		p.outages.stored(f.pub.Subject)
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

// answerTo never waits: one caller without room must not hold up the others.
func answerTo(f *flight, a Ack) {
	a.Pub = f.pub
	select {
	case f.acks <- a:
	default:
		go func() { f.acks <- a }()
	}
}

// later lets a flight wait before it is sent again.
func (p *publisher) later(no uint64, why error) {
	p.mu.Lock()
	f := p.flights[no]
	var subject string
	if f != nil {
		f.due = time.Now().Add(backoff(f.try))
		f.try++
		f.why = why
		subject = f.pub.Subject
		p.outages.failed(subject, len(f.pub.Data), why, time.Now())
	}
	tell := f != nil && f.try == 5
	p.mu.Unlock()
	if tell {
		p.trouble(noAck, "publish on "+subject+" is not acknowledged yet", why)
	}
	p.poke()
}

// giveUpSign is how long a publish must have waited for its answer for the lack
// of one to mean anything. Callers also give up because they are gone.
const giveUpSign = time.Second

// giveUp sends a flight no more and returns why it is not stored, nil if that
// is unknown.
func (p *publisher) giveUp(no uint64) error {
	p.mu.Lock()
	f := p.flights[no]
	delete(p.flights, no)
	p.mu.Unlock()
	now := time.Now()
	if f == nil || f.why == nil && now.Sub(f.sent) < giveUpSign {
		return nil
	}
	p.outages.failed(f.pub.Subject, len(f.pub.Data), cmp.Or(f.why, errSilentAck), now)
	p.probe(f.pub.Subject)
	return f.why
}

// forbid ends the flights on a subject the server does not let us publish on.
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

// resendAll makes everything in flight due: its acks are lost with the old
// connection. What bears an Epoch is given back instead, as if refused: a server
// that lost power gives sequences out again, and the old condition could then
// hold for another event than the one it meant. Its sender reads the chain.
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

// resendLoop sends again what is due.
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
			p.send(f)
		}
		if p.pause() != nil {
			return
		}
		timer.Reset(next)
	}
}

// pause keeps a crowd of failing flights from being looked at all the time.
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

// due gives the flights to send again, oldest first, and the time until the
// next are. Looking at all of them costs less than keeping them in order: it
// happens at most every resendPace, and not at all where nothing is in flight.
func (p *publisher) due(now time.Time) (due []*flight, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next = time.Hour
	for _, f := range p.flights {
		if wait := f.due.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		if !f.due.IsZero() { // else the connection was lost
			p.outages.failed(f.pub.Subject, len(f.pub.Data), cmp.Or(f.why, errSilentAck), now)
		}
		due = append(due, f)
		f.due = now.Add(ackWait)
		next = min(next, ackWait)
	}
	slices.SortFunc(due, func(a, b *flight) int { return int(int64(a.no - b.no)) })
	return due, next
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
