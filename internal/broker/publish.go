package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

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

const (
	ackWait    = 3 * time.Second       // how long a publish waits for its answer before it is sent again
	resendPace = 20 * time.Millisecond // minimum time between two checks for publishes that are due
	noticedTry = 5                     // the try after which a notice reports a publish
	// giveUpSign is how long a publish must have waited without an answer to count as
	// failed when its caller gives up. A caller can also end for other reasons.
	giveUpSign = time.Second
	maxProbe   = 64 << 10 // maximum size of a probe in bytes
)

var (
	errSilentAck = errors.New("no acknowledgement")
	errEpoch     = fmt.Errorf("%w, perhaps: the connection was lost since it was learned", ErrConflict)
)

// inflights are the publishes in flight. Their replies arrive in one inbox: the
// asynchronous publish of the library drops acks silently, fails all that is pending
// at a disconnection, and retries out of order.
type inflights struct {
	b      *Broker
	inbox  string // ends with a dot; replyTo adds the rest
	pulses string // the subject of the answers to pulses
	sub    *nats.Subscription
	wake   chan struct{} // some may be due
	done   chan struct{}
	ended  sync.WaitGroup

	mu      sync.Mutex
	streams [len(publishedTo) + 1]streamState // unknown streams are the last
	epoch   uint64                            // counts connections
	of      map[uint64]*inflight              // by number
	last    uint64
	probe   uint64 // number of the last probe
	closed  bool
}

type inflight struct {
	pub    *Pub
	acks   chan<- Ack
	no     uint64
	try    int
	sent   time.Time // for the first time
	due    time.Time // when it is sent again
	why    error     // the reason why it is not stored yet, where known
	stream int       // index in inflights.streams

	place  uint64    // of the last try in the order of all tries; of the first, it is no
	tried  time.Time // when the last try was sent
	failed bool      // the last try was answered with a failure
}

func newInflights(b *Broker) (*inflights, error) {
	p := &inflights{
		b: b, inbox: b.nc.NewInbox() + ".", pulses: b.nc.NewInbox(),
		wake: make(chan struct{}, 1), done: make(chan struct{}), of: map[uint64]*inflight{}, epoch: 1,
	}
	var err error
	if p.sub, err = b.nc.Subscribe(p.inbox+"*", p.reply); err != nil {
		return nil, fmt.Errorf("broker: subscribing to acknowledgements: %w", err)
	}
	_ = p.sub.SetPendingLimits(-1, -1) // bounded by what is in flight
	if _, err = b.nc.Subscribe(p.pulses, b.down.pulsed); err != nil {
		return nil, fmt.Errorf("broker: subscribing to answers to pulses: %w", err)
	}
	p.ended.Go(p.resendLoop)
	return p, nil
}

func (p *inflights) publish(pub *Pub, acks chan<- Ack) (no uint64) {
	now := time.Now()
	f := &inflight{pub: pub, acks: acks, sent: now, tried: now, due: now.Add(ackWait), stream: streamOf(pub.Subject)}
	p.mu.Lock()
	var refused error
	switch {
	case p.closed:
		refused = ErrClosed
	case pub.Epoch != 0 && pub.Epoch != p.epoch:
		refused = errEpoch
	}
	if refused != nil {
		p.mu.Unlock()
		answerTo(f, Ack{Err: refused})
		return 0
	}
	p.last++
	no = p.last
	f.no, f.place = no, no
	p.of[no] = f
	first := len(p.of) == 1
	p.mu.Unlock()
	if first {
		p.poke()
	}
	p.send(pub, no, no)
	return no
}

func (p *inflights) send(pub *Pub, no, place uint64) {
	// The server drops a publish on such a subject silently.
	if !publishable(pub.Subject) {
		p.finish(no, Ack{Err: fmt.Errorf("%w: %q is no subject to publish on", ErrRefused, pub.Subject)})
		return
	}
	err := p.b.nc.PublishMsg(&nats.Msg{Subject: pub.Subject, Header: pub.Header, Data: pub.Data, Reply: p.replyTo(no, place)})
	switch {
	case err == nil:
	case errors.Is(err, nats.ErrMaxPayload):
		p.finish(no, Ack{Err: fmt.Errorf("%w: %d bytes on %s, the server takes %d", ErrTooLarge, len(pub.Data), pub.Subject, p.b.nc.MaxPayload())})
	case errors.Is(err, nats.ErrBadSubject), errors.Is(err, nats.ErrInvalidMsg), errors.Is(err, nats.ErrBadHeaderMsg), errors.Is(err, nats.ErrHeadersNotSupported):
		p.finish(no, Ack{Err: fmt.Errorf("%w: %s: %w", ErrRefused, pub.Subject, err)})
	default: // no connection, or a full buffer
		p.retry(no, unconnected(err))
	}
}

func (p *inflights) reply(m *nats.Msg) {
	no, place, ok := p.tryOf(m.Subject)
	if !ok {
		return
	}
	if status := m.Header.Get("Status"); status != "" { // 503: the stream is offline or has no leader
		p.retry(no, nats.ErrNoResponders)
		return
	}
	p.heard(no, place)
	if seq, ok := plainAck(m.Data); ok {
		p.finish(no, Ack{Seq: seq})
		return
	}
	var ack struct {
		failure
		Seq       uint64 `json:"seq"`
		Duplicate bool   `json:"duplicate"`
	}
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		p.retry(no, fmt.Errorf("unreadable acknowledgement: %w", err))
		return
	}
	switch e := ack.Err; {
	case e == nil && ack.Seq > 0:
		p.finish(no, Ack{Seq: ack.Seq, Duplicate: ack.Duplicate})
	case e == nil:
		p.retry(no, errors.New("acknowledgement without a sequence"))
	case e.ErrCode == codeWrongLastSequence:
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrConflict, e)})
	case e.full():
		p.full(no, e)
	case e.ErrCode == codeMessageTooLarge:
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrTooLarge, e)})
	case e.uncertain():
		p.retry(no, e)
	default:
		p.finish(no, Ack{Err: fmt.Errorf("%w: %w", ErrRefused, e)})
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

// finish answers a publish, unless that has been answered.
func (p *inflights) finish(no uint64, a Ack) {
	p.mu.Lock()
	f := p.of[no]
	delete(p.of, no)
	if f != nil && a.Err == nil {
		p.endOutage(f, time.Now())
	}
	p.mu.Unlock()
	if f != nil {
		answerTo(f, a)
	}
}

func (p *inflights) full(no uint64, why error) {
	p.mu.Lock()
	f := p.of[no]
	refuse := f != nil && f.pub.RefuseFull
	if refuse {
		f.why = why
	}
	p.mu.Unlock()
	if !refuse {
		p.retry(no, why)
		return
	}
	_ = p.giveUp(no) // which returns why
	answerTo(f, Ack{Err: fmt.Errorf("%w: %w", ErrFull, why)})
}

// answerTo never blocks: one caller without capacity must not delay the others.
func answerTo(f *inflight, a Ack) {
	a.Pub = f.pub
	select {
	case f.acks <- a:
	default:
		go func() { f.acks <- a }()
	}
}

func (p *inflights) retry(no uint64, why error) {
	p.mu.Lock()
	f := p.of[no]
	noticed := false
	if f != nil {
		now := time.Now()
		f.due = now.Add(backoff(f.try))
		f.try++
		f.why, f.failed = why, true
		p.noteOutage(f, now)
		noticed = f.try == noticedTry
	}
	p.mu.Unlock()
	if noticed {
		p.b.report(noAck, "publish on "+f.pub.Subject+" is not acknowledged yet", why)
	}
	p.poke()
}

// giveUp removes a publish, so that it is not sent again, and returns why it is not
// stored, nil if that is unknown.
//
// In place of an input it publishes a probe. Its acknowledgement ends the outage; until
// then it shows that the outage lasts. It is as large as the input, because a full
// stream may still accept a smaller one. Workers skip probes.
func (p *inflights) giveUp(no uint64) error {
	now := time.Now()
	p.mu.Lock()
	f := p.of[no]
	delete(p.of, no)
	if f == nil || f.why == nil && now.Sub(f.sent) < giveUpSign {
		p.mu.Unlock()
		return nil
	}
	p.noteOutage(f, now)
	probe := f.stream == toInputs && p.of[p.probe] == nil
	p.mu.Unlock()
	if probe {
		no := p.publish(&Pub{Subject: SubjectProbe, Data: make([]byte, min(len(f.pub.Data), maxProbe))}, make(chan Ack, 1))
		p.mu.Lock()
		p.probe = no
		p.mu.Unlock()
	}
	return f.why
}

// resendAll makes all publishes due: their acks are lost with the old connection. A
// Pub with an Epoch is answered as a conflict instead. A server that lost power
// assigns sequences again, and the condition could then hold for another event than
// intended. Its sender reads the log.
func (p *inflights) resendAll() {
	p.mu.Lock()
	p.epoch++
	for _, f := range p.of {
		f.due = time.Time{}
	}
	p.mu.Unlock()
	p.finishAll(errEpoch, func(f *inflight) bool { return f.pub.Epoch != 0 })
	p.poke()
}

func (p *inflights) finishAll(err error, selected func(*inflight) bool) {
	var nos []uint64
	p.mu.Lock()
	for no, f := range p.of {
		if selected(f) {
			nos = append(nos, no)
		}
	}
	p.mu.Unlock()
	for _, no := range nos {
		p.finish(no, Ack{Err: err})
	}
}

func (p *inflights) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *inflights) close() {
	p.mu.Lock()
	left := p.of
	p.of = map[uint64]*inflight{}
	p.closed = true
	p.mu.Unlock()
	close(p.done)
	p.ended.Wait()
	for _, f := range left {
		answerTo(f, Ack{Err: ErrClosed})
	}
}
