package broker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How a reader pulls.
const (
	readBatch = 500 // maximum number of messages in one batch
	// ReadCredit is the default of Reading.Credit.
	ReadCredit    = 1000
	readBytes     = 8 << 20
	readHeartbeat = time.Second      // interval of the server's heartbeats
	readSilence   = 3                // missed heartbeats after which a consumer is replaced
	readExpiry    = 30 * time.Second // of one pull request
)

var errAgain = errors.New("broker: consumer lost")

// ErrStop ends a read that was successful, if a function of its Reading returns it.
var ErrStop = errors.New("broker: end of reading")

// Message is one message of a stream.
type Message struct {
	Seq     uint64
	At      time.Time // when the server stored it
	Subject string
	Header  nats.Header
	Data    []byte
}

// Reading selects what to read of a stream, and receives it.
type Reading struct {
	Stream      string
	Filter      string // "" reads everything; never several filters, which are 60 times slower
	HeadersOnly bool   // leaves the bodies out
	Credit      int    // maximum number of messages requested and not yet read; if zero, ReadCredit
	Bytes       int    // requested at once; if zero, 8 MiB
	// Since, if set, starts with the messages stored then or later, where the
	// sequence to read is 0.
	Since time.Time

	// Position, if set, checks the next sequence against the stream's bounds
	// before each consumer is created.
	Position func(ctx context.Context, next uint64) error
	// Deliver receives the messages that have arrived, in order, and the number of
	// messages waiting at the server after them. When a consumer starts, the batch
	// is empty and pending counts all that is waiting.
	Deliver func(batch []Message, pending uint64) error
	// Idle, if set, is called every few seconds while nothing arrives.
	Idle func(ctx context.Context) error
}

// Read reads a stream from sequence next on, without end, with one consumer
// after the other: a consumer without acks is only a cursor, and ends with its
// server. No message is left out or delivered twice. Read returns ctx's error or
// the error of one of r's functions.
func (b *Broker) Read(ctx context.Context, r Reading, next uint64) error {
	for try := 0; ; try++ {
		if r.Position != nil {
			if err := r.Position(ctx, next); err != nil {
				return err
			}
		}
		before := next
		err := b.readOnce(ctx, r, &next, createTimeout<<min(try, 4))
		if !errors.Is(err, errAgain) {
			return err
		}
		b.counts.remade.Add(1)
		if next > before {
			try = 0
		}
		if b.Backoff(ctx, try) != nil {
			return ctx.Err()
		}
	}
}

func (b *Broker) readOnce(ctx context.Context, r Reading, next *uint64, within time.Duration) error {
	r.Credit, r.Bytes = cmp.Or(r.Credit, ReadCredit), cmp.Or(r.Bytes, readBytes)
	again := b.again.next() // before the consumer is created, or a reconnection could be missed
	p := &pull{b: b, r: r, next: next, inbox: b.reads.NewInbox()}
	p.name = strings.TrimPrefix(p.inbox, inboxPrefix+".")
	// The channel has capacity for all requested messages and for the server's
	// status messages: the library drops what exceeds the capacity. A dropped
	// message shows as a gap in the consumer's count.
	p.in = make(chan *nats.Msg, r.Credit+256)
	sub, err := b.reads.ChanSubscribe(p.inbox, p.in)
	if err != nil {
		return b.closedOr(ctx, err)
	}
	defer sub.Unsubscribe()
	pending, err := p.begin(ctx, within)
	if err != nil {
		return b.closedOr(ctx, err)
	}
	defer p.remove()
	if err := r.Deliver(nil, pending); err != nil {
		return err
	}
	return p.run(ctx, again)
}

func (b *Broker) closedOr(ctx context.Context, err error) error {
	switch refused := (*apiError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case b.nc.IsClosed():
		return ErrClosed
	case errors.As(err, &refused):
		b.report(noReading, "cannot read yet", err)
	}
	return errAgain
}

type pull struct {
	b      *Broker
	r      Reading
	next   *uint64 // sequence to read
	name   string
	inbox  string
	in     chan *nats.Msg
	count  uint64 // messages the consumer has delivered
	credit int    // messages it may still deliver
	asked  uint64 // count at the last request
	// large: the next message is larger than all that is asked for at once.
	large bool
	batch []Message
}

// createTimeout is how long the first consumer of a replicated stream may take to begin: two
// tries of the request. Each further one may take twice as long, as servers can be slow.
const createTimeout = 2 * AskTimeout

// begin creates the consumer. One that a cluster places on a server that was just killed does
// not begin before that is back: it is given up.
func (p *pull) begin(ctx context.Context, within time.Duration) (pending uint64, err error) {
	if !p.b.replicated {
		return p.create(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if pending, err = p.create(limited); limited.Err() != nil {
		p.remove()
	}
	return pending, err
}

func (p *pull) create(ctx context.Context) (pending uint64, err error) {
	config := jetstream.ConsumerConfig{
		Name:          p.name,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:   *p.next,
		AckPolicy:     jetstream.AckNonePolicy,
		MaxDeliver:    -1,
		FilterSubject: p.r.Filter,
		HeadersOnly:   p.r.HeadersOnly,
		MemoryStorage: true,
		Replicas:      1,
		// Longer than any pause of a reader that is held up and comes back.
		InactiveThreshold: 5 * time.Minute,
	}
	if *p.next == 0 && !p.r.Since.IsZero() {
		config.DeliverPolicy, config.OptStartSeq, config.OptStartTime = jetstream.DeliverByStartTimePolicy, 0, &p.r.Since
	}
	subject := apiConsumerCreate + p.r.Stream + "." + p.name
	if p.r.Filter != "" {
		subject += "." + p.r.Filter
	}
	var info struct {
		Pending uint64 `json:"num_pending"`
	}
	err = p.b.ask(ctx, subject, map[string]any{"stream_name": p.r.Stream, "config": config}, &info)
	return info.Pending, err
}

// remove deletes the consumer without waiting: the server deletes an inactive
// one by itself.
func (p *pull) remove() {
	_ = p.b.nc.PublishRequest(apiConsumerDelete+p.r.Stream+"."+p.name, p.b.nc.NewInbox(), nil)
}

// request requests more messages when less than half of the credit is used. A
// message that is larger than the bytes of a request is requested alone, or it
// would never be delivered.
func (p *pull) request() error {
	n, bytes := p.r.Credit-p.credit, p.r.Bytes
	switch {
	case p.large && p.credit > 0, p.credit > p.r.Credit/2:
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
	return p.b.reads.PublishRequest(apiConsumerNext+p.r.Stream+"."+p.name, p.inbox, body)
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
			if len(p.batch) > 0 { // else a heartbeat
				quiet = 0
			}
		case <-beat.C:
			if silent++; silent > readSilence {
				return errAgain
			}
			// Only while nothing has arrived: it would look like a missing message.
			if quiet++; p.r.Idle != nil && quiet%idlePace == 2 && len(p.in) == 0 {
				if err := p.r.Idle(ctx); err != nil {
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
	// The messages before a gap are in order.
	if len(p.batch) > 0 {
		*p.next = p.batch[len(p.batch)-1].Seq + 1
		if err := p.r.Deliver(p.batch, pending); err != nil {
			return err
		}
	}
	return broken
}

func (p *pull) one(m *nats.Msg, pending *uint64) error {
	pos, ok := parseAck(m.Reply)
	if !ok {
		return p.status(m)
	}
	if pos.count != p.count+1 || pos.seq < *p.next {
		return errAgain
	}
	p.count = pos.count
	p.credit--
	p.large = false
	*pending = pos.pending
	p.batch = append(p.batch, Message{pos.seq, pos.at, m.Subject, m.Header, m.Data})
	return nil
}

// status reads a status message: 100 is a heartbeat; 404, 408 and one kind of
// 409 end a request; the others end the consumer.
func (p *pull) status(m *nats.Msg) error {
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

// tooLarge is the server's description of a request that ends because the next
// message is larger than the remaining bytes of the request.
const tooLarge = "Message Size Exceeds MaxBytes"

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

// idlePace is the number of heartbeats between two calls of Reading.Idle.
const idlePace = 5

// ReadToEnd reads a stream from sequence next on, up to its present end. deliver
// receives the messages in batches, which are never empty; the slice is reused
// after it returns. r.Deliver and r.Idle are not used. A deliver that returns
// ErrStop ends the read without an error.
//
// The server counts a message that is damaged on its disk as waiting, and never
// delivers it. So where nothing arrives although something is waiting, the
// stream's leader is asked whether it has another message.
//
// In a cluster a consumer can read a replica that lags behind, or be created by an
// outdated leader. There the stream's leader is asked for the last message at the
// first end, and other consumers read on up to it.
func (b *Broker) ReadToEnd(ctx context.Context, r Reading, next uint64, deliver func(batch []Message) error) error {
	e := end{b: b, r: r, next: next}
	enough := false
	r.Deliver = func(batch []Message, pending uint64) error {
		if n := len(batch); n > 0 {
			if err := deliver(batch); err != nil {
				enough = errors.Is(err, ErrStop)
				return err
			}
			e.next, e.asked = batch[n-1].Seq+1, false
		}
		if pending == 0 {
			return ErrStop
		}
		return nil
	}
	r.Idle = e.reached
	for try := 0; ; try++ {
		if err := b.Read(ctx, r, e.next); !errors.Is(err, ErrStop) {
			return err
		}
		if enough || !b.replicated {
			return nil
		}
		if missing, err := e.missing(ctx); missing == 0 || err != nil {
			return err
		} else if try == maxReads {
			return fmt.Errorf("broker: stream %s has message %d, but no consumer delivers it", r.Stream, missing)
		}
		if b.Backoff(ctx, try) != nil {
			return ctx.Err()
		}
	}
}

// maxReads is the number of consumers after the first one that read on where the
// leader has more. They take about ten seconds.
const maxReads = 10

// Each returns a function for ReadToEnd that calls fn with each message.
func Each(fn func(Message) error) func(batch []Message) error {
	return func(batch []Message) error {
		for i := range batch {
			if err := fn(batch[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

type end struct {
	b     *Broker
	r     Reading
	next  uint64 // sequence to read; 0 where r.Since is where to start
	asked bool   // the leader had no other message
	last  uint64 // the leader's last message at the first end, 0 until then
}

// missing returns the sequence of a message that the leader had at the first end of
// the read and that was not delivered, or 0.
func (e *end) missing(ctx context.Context) (uint64, error) {
	if e.last == 0 {
		m, err := e.b.LastMessage(ctx, e.r.Stream, everything(e.r.Filter))
		if m == nil {
			return 0, err
		}
		e.last = m.Seq
	}
	if e.next > e.last {
		return 0, nil
	}
	m, err := e.after(ctx) // the last one may have been deleted, or be older than r.Since
	if m == nil || m.Seq > e.last {
		return 0, err
	}
	return m.Seq, nil
}

// reached returns ErrStop if the stream has no other message. Where there are
// replicas, an outdated leader may answer for some seconds: it is asked in two
// calls, which are longer apart.
func (e *end) reached(ctx context.Context) error {
	m, err := e.after(ctx)
	switch {
	case err != nil:
		return err
	case m != nil:
		e.asked = false
	case e.asked || !e.b.replicated:
		return ErrStop
	default:
		e.asked = true
	}
	return nil
}

func (e *end) after(ctx context.Context) (*Message, error) {
	if e.next > 0 {
		return e.b.NextMessage(ctx, e.r.Stream, e.r.Filter, e.next)
	}
	return e.b.message(ctx, e.r.Stream, map[string]any{"start_time": e.r.Since, "next_by_subj": everything(e.r.Filter)})
}
