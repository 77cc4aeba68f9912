package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How a reader pulls.
const (
	readBatch     = 500  // messages given to the caller at once, at most
	readCredit    = 1000 // messages asked for and not yet read, at most
	readBytes     = 8 << 20
	readHeartbeat = time.Second      // the server is heard at least so often
	readSilence   = 3                // heartbeats missed before a consumer is given up
	readExpiry    = 30 * time.Second // of one pull request
)

// errAgain ends a consumer whose successor goes on from the same place.
var errAgain = errors.New("broker: consumer lost")

// errStop ends a read from within.
var errStop = errors.New("broker: end of reading")

// reading says what to read of a stream.
type reading struct {
	stream  string
	filter  string // "" for everything; never several: that is 60 times slower
	headers bool   // without bodies
	credit  int    // if zero, readCredit
	bytes   int    // asked for at once; if zero, readBytes
	// since, where set, begins with what was stored then or later, instead of
	// with a sequence.
	since time.Time

	// position, where set, checks the next sequence against the stream's
	// bounds before each consumer is made.
	position func(ctx context.Context, next uint64) error
	// deliver gets what is waiting, in order, and how much more was waiting at
	// the server behind it; at a consumer's start, what is waiting in all.
	deliver func(batch []stored, pending uint64) error
	// idle, where set, is called now and then where nothing comes.
	idle func(ctx context.Context) error
}

// stored is one message of a stream.
type stored struct {
	seq     uint64
	at      time.Time
	subject string
	header  nats.Header
	data    []byte
}

// read reads a stream from sequence next on, for ever, with one consumer after
// the other: a consumer without acks is only a cursor, and dies with its
// server. It returns ctx's error or that of one of r's functions.
func (b *Broker) read(ctx context.Context, r reading, next uint64) error {
	for try := 0; ; try++ {
		if r.position != nil {
			if err := r.position(ctx, next); err != nil {
				return err
			}
		}
		before := next
		err := b.readOnce(ctx, r, &next)
		if !errors.Is(err, errAgain) {
			return err
		}
		b.counts.remade.Add(1)
		if next > before {
			try = 0
		}
		if b.again.pause(ctx, backoff(try)) != nil {
			return ctx.Err()
		}
	}
}

func (b *Broker) readOnce(ctx context.Context, r reading, next *uint64) error {
	r.credit, r.bytes = cmp.Or(r.credit, readCredit), cmp.Or(r.bytes, readBytes)
	again := b.again.next() // before the consumer is made, or a reconnection could be missed
	p := &pull{b: b, r: r, next: next, inbox: b.reads.NewInbox()}
	p.name = strings.TrimPrefix(p.inbox, inboxPrefix+".")
	// A channel with room for all that was asked for, and for the server's
	// remarks: the library drops what has no room. Data that is dropped even so
	// shows as a gap in the consumer's count.
	p.in = make(chan *nats.Msg, r.credit+256)
	sub, err := b.reads.ChanSubscribe(p.inbox, p.in)
	if err != nil {
		return b.closedOr(ctx, err)
	}
	defer sub.Unsubscribe()
	pending, err := p.create(ctx)
	if err != nil {
		return b.closedOr(ctx, err)
	}
	defer p.remove()
	if err := r.deliver(nil, pending); err != nil {
		return err
	}
	return p.run(ctx, again)
}

// closedOr gives the error that ends a reader for good, or errAgain.
func (b *Broker) closedOr(ctx context.Context, err error) error {
	switch refused := (*apiError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case b.nc.IsClosed():
		return ErrClosed
	case errors.As(err, &refused):
		b.trouble(noReading, "cannot read yet", err)
	}
	return errAgain
}

// pull is one consumer and what it has been asked for.
type pull struct {
	b      *Broker
	r      reading
	next   *uint64 // sequence to read
	name   string
	inbox  string
	in     chan *nats.Msg
	count  uint64 // messages the consumer has delivered
	credit int    // messages it may still deliver
	asked  uint64 // count at the last request
	// large: the next message is larger than all that is asked for at once.
	large bool
	batch []stored
}

// create makes the consumer and gives what is waiting for it.
func (p *pull) create(ctx context.Context) (pending uint64, err error) {
	config := jetstream.ConsumerConfig{
		Name:          p.name,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   *p.next,
		AckPolicy:     jetstream.AckNonePolicy,
		MaxDeliver:    -1,
		FilterSubject: p.r.filter,
		HeadersOnly:   p.r.headers,
		MemoryStorage: true,
		Replicas:      1,
		// Longer than any pause of a reader that is held up and comes back.
		InactiveThreshold: 5 * time.Minute,
	}
	if *p.next == 0 && !p.r.since.IsZero() {
		config.DeliverPolicy, config.OptStartSeq, config.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &p.r.since
	}
	subject := apiConsumerCreate + p.r.stream + "." + p.name
	if p.r.filter != "" {
		subject += "." + p.r.filter
	}
	var info struct {
		failure
		Pending uint64 `json:"num_pending"`
	}
	err = p.b.ask(ctx, subject, map[string]any{"stream_name": p.r.stream, "config": config}, &info)
	return info.Pending, err
}

// remove takes the consumer away without waiting; the server removes one that
// is forgotten.
func (p *pull) remove() {
	_ = p.b.nc.PublishRequest(apiConsumerDelete+p.r.stream+"."+p.name, p.b.nc.NewInbox(), nil)
}

// request asks for more where less than half is under way. A message that is
// larger than what is asked for at once is asked for alone, or it would never be
// delivered.
func (p *pull) request() error {
	n, bytes := p.r.credit-p.credit, p.r.bytes
	switch {
	case p.large && p.credit > 0, p.credit > p.r.credit/2:
		return nil
	case p.large:
		n, bytes = 1, 2*p.b.MaxPayload()
	}
	body, _ := json.Marshal(map[string]any{ // cannot fail
		"batch":          n,
		"max_bytes":      bytes,
		"expires":        readExpiry,
		"idle_heartbeat": readHeartbeat,
	})
	p.credit += n
	p.asked = p.count
	return p.b.reads.PublishRequest(apiConsumerNext+p.r.stream+"."+p.name, p.inbox, body)
}

func (p *pull) run(ctx context.Context, again <-chan struct{}) error {
	beat := time.NewTicker(readHeartbeat)
	defer beat.Stop()
	silent, quiet := 0, 0
	for {
		if p.request() != nil {
			return errAgain
		}
		select {
		case m := <-p.in:
			silent = 0
			if err := p.take(m); err != nil {
				return err
			}
			if len(p.batch) > 0 { // no mere heartbeat
				quiet = 0
			}
		case <-beat.C:
			if silent++; silent > readSilence {
				return errAgain
			}
			// Only where nothing is in hand: it would be taken for missing.
			if quiet++; p.r.idle != nil && quiet%idlePace == 2 && len(p.in) == 0 {
				if err := p.r.idle(ctx); err != nil {
					return err
				}
			}
		case <-again:
			return errAgain
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take reads m and what waits behind it, and delivers it.
func (p *pull) take(m *nats.Msg) error {
	p.batch = p.batch[:0]
	var pending uint64
	var broken error
	for {
		if broken = p.one(m, &pending); broken != nil || len(p.batch) == readBatch {
			break
		}
		select {
		case m = <-p.in:
			continue
		default:
		}
		break
	}
	// What came in order before a break counts.
	if len(p.batch) > 0 {
		*p.next = p.batch[len(p.batch)-1].seq + 1
		if err := p.r.deliver(p.batch, pending); err != nil {
			return err
		}
	}
	return broken
}

// one reads a message or a remark of the server's.
func (p *pull) one(m *nats.Msg, pending *uint64) error {
	pos, ok := parseAck(m.Reply)
	if !ok {
		return p.remark(m)
	}
	if pos.count != p.count+1 || pos.seq < *p.next {
		return errAgain
	}
	p.count = pos.count
	p.credit--
	p.large = false
	*pending = pos.pending
	p.batch = append(p.batch, stored{pos.seq, pos.at, m.Subject, m.Header, m.Data})
	return nil
}

// remark reads a status message: 100 is a heartbeat; 404, 408 and one kind of
// 409 end a request; the others end the consumer.
func (p *pull) remark(m *nats.Msg) error {
	switch m.Header.Get("Status") {
	case "100":
		return nil
	case "404", "408", "409":
		left, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages"))
		if err != nil { // consumer deleted, leadership change, server shutdown
			return errAgain
		}
		p.credit -= left
		p.large = p.large || m.Header.Get("Description") == tooLarge && p.count == p.asked
		return nil
	}
	return errAgain
}

// tooLarge is what the server says of a request that ends because the next
// message is larger than the bytes that are left of it.
const tooLarge = "Message Size Exceeds MaxBytes"

// ackPosition is what the reply subject of a delivered message tells.
type ackPosition struct {
	seq     uint64 // in the stream
	count   uint64 // in the consumer
	at      time.Time
	pending uint64
}

// parseAck reads $JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<delivered>.
// <stream seq>.<consumer seq>.<time>.<pending>[.<token>] (NATS ADR-15).
func parseAck(reply string) (pos ackPosition, ok bool) {
	if !strings.HasPrefix(reply, "$JS.ACK.") {
		return pos, false
	}
	var parts [12]string
	n := 0
	for rest := reply; n < len(parts); n++ {
		var more bool
		if parts[n], rest, more = strings.Cut(rest, "."); !more {
			n++
			break
		}
	}
	t := parts[5:]
	if n >= 11 {
		t = parts[7:]
	} else if n != 9 {
		return pos, false
	}
	seq, err1 := strconv.ParseUint(t[0], 10, 64)
	count, err2 := strconv.ParseUint(t[1], 10, 64)
	at, err3 := strconv.ParseInt(t[2], 10, 64)
	pending, err4 := strconv.ParseUint(t[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return pos, false
	}
	return ackPosition{seq, count, time.Unix(0, at).UTC(), pending}, true
}

// idlePace is the number of heartbeats between two calls of reading.idle.
const idlePace = 5
