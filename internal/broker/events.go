package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// Stored is one event of the event log.
type Stored = events.Record

// Message is one message of the event log. It is an event unless it is forged.
type Message struct {
	events.Record
	Subject string
	// Forged is the reason why the message is no event, "" if it is one. An
	// event has an id and the condition under which it was stored. A message
	// without them was published by a client that should not have the permission.
	Forged string

	linked bool // Prev is known
}

// ChainLast reads where a session's chain ends from its stream's leader. seq is
// that of the last message, 0 if there is none: what an append is conditioned
// on. last is the last event, zero if there is none; its Seq is less than seq
// where forged messages stand behind it.
func (b *Broker) ChainLast(ctx context.Context, token string) (seq uint64, last Stored, err error) {
	for try := 0; ; try++ {
		m, err := b.lastMessage(ctx, streamEvents, chain(token))
		if m == nil && err == nil {
			m, err = b.noEnd(ctx, token)
		}
		if m == nil || err != nil {
			return 0, Stored{}, err
		}
		if end := b.logged(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data}); end.Forged == "" {
			return m.Sequence, end.Record, nil
		}
		last, reached, err := b.lastGenuine(ctx, token, m.Sequence)
		if err != nil || reached {
			return m.Sequence, last, err
		}
		if err := b.again.pause(ctx, backoff(try)); err != nil {
			return 0, Stored{}, err
		}
	}
}

// errBadEnd is returned where the last event of a session cannot be read.
var errBadEnd = errors.New("broker: damaged on the disk")

// noEnd returns errBadEnd where a session whose last event
// cannot be read has others: the server reports a message that is damaged on the
// disk as none, and would take the session's first event again. It returns the
// last event where one was stored meanwhile.
func (b *Broker) noEnd(ctx context.Context, token string) (*nats.RawStreamMsg, error) {
	m, err := b.message(ctx, streamEvents, map[string]any{"seq": 1, "next_by_subj": chain(token)})
	if err != nil || m == nil {
		return nil, err
	}
	if m, err = b.lastMessage(ctx, streamEvents, chain(token)); err != nil || m != nil {
		return m, err
	}
	err = fmt.Errorf("%w: the last event of session %s in stream %s cannot be read", errBadEnd, token, streamEvents)
	if b.embedded != nil {
		b.embedded.drop(err)
		return nil, err
	}
	return nil, fmt.Errorf("%w; stop the NATS server, remove index.db of that stream and start it: it then drops what is damaged, and streamer appends it again", err)
}

// lastGenuine reads a chain for its last event before sequence seq. reached is
// false where the chain was not read up to there: a replica may lag, and what
// it lacks must not be appended again.
func (b *Broker) lastGenuine(ctx context.Context, token string, seq uint64) (last Stored, reached bool, err error) {
	err = b.history(ctx, token, 0, func(m Message) error {
		reached = reached || m.Seq == seq
		if m.Forged == "" && m.Seq < seq {
			last = m.Record
		}
		return nil
	})
	return last, reached, err
}

// Event reads one event of a session by its sequence: events.ErrNotFound if there is
// none, or it is another session's.
func (b *Broker) Event(ctx context.Context, token string, seq uint64) (Stored, error) {
	if seq > 0 { // the server takes 0 for no sequence at all
		m, err := b.message(ctx, streamEvents, map[string]any{"seq": seq})
		if err != nil {
			return Stored{}, err
		}
		if m != nil && sessionOf(m.Subject) == token {
			if s := b.logged(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data}); s.Forged == "" {
				return s.Record, nil
			}
		}
	}
	return Stored{}, fmt.Errorf("%w: event %d of session %s", events.ErrNotFound, seq, token)
}

// Events reads the events after sequence after, of one session or, with token
// "", of all, in order up to the log's present end. Forged messages are skipped.
// It returns fn's error or ctx's.
func (b *Broker) Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error {
	return b.Messages(ctx, token, after, func(m Message) error {
		if m.Forged != "" {
			return nil
		}
		return fn(m.Record)
	})
}

// Messages reads what Events reads, and the forged messages too.
func (b *Broker) Messages(ctx context.Context, token string, after uint64, fn func(Message) error) error {
	if token != "" { // a consumer is dear where there is nothing to read
		m, err := b.lastMessage(ctx, streamEvents, chain(token))
		if err != nil || m == nil || m.Sequence <= after {
			return err
		}
	}
	return b.history(ctx, token, after, fn)
}

func (b *Broker) history(ctx context.Context, token string, after uint64, fn func(Message) error) error {
	r := eventReading(token, nil)
	if token == "" {
		r.credit = sweepCredit // tools read the whole log, one at a time
	}
	return b.readToEnd(ctx, r, after+1, func(m stored) error { return fn(b.logged(m)) })
}

// tailRead is how many bytes of a session's history are asked for at once, and
// so what a reader that does not read has buffered, twice.
const tailRead = 256 << 10

// eventReading asks for little ahead: many clients read histories at once, most
// are short, and some stop reading.
func eventReading(token string, deliver func([]stored, uint64) error) reading {
	r := reading{stream: streamEvents, credit: 512, deliver: deliver}
	if token != "" {
		r.filter, r.bytes = chain(token), tailRead
	}
	return r
}

// logged reads subject and headers of a message of the event log.
func (b *Broker) logged(m stored) Message {
	s := Message{Subject: m.subject, Record: events.Record{
		Seq: m.seq, At: m.at, Token: sessionOf(m.subject), Call: m.header.Get(events.HeaderCall), Data: m.data,
		Type: events.Type(m.subject[strings.LastIndexByte(m.subject, '.')+1:]),
	}}
	var err error
	if prev := m.header.Get(headerPrev); prev != "" {
		s.Prev, err = strconv.ParseUint(prev, 10, 64)
		s.linked = err == nil
	}
	switch s.ID, err = events.ParseID(m.header.Get(events.HeaderEventID)); {
	case err != nil:
		s.Forged = "no event id: " + err.Error()
	case !s.linked && !b.opts.NoCondition:
		s.Forged = "stored without a condition"
	}
	return s
}

// sessionOf gives the token in toolcalls.<token>.….
func sessionOf(subject string) string {
	_, rest, _ := strings.Cut(subject, ".")
	token, _, _ := strings.Cut(rest, ".")
	return token
}

// EventBounds gives the sequences of the first and the last event. In an empty
// log first is last + 1.
func (b *Broker) EventBounds(ctx context.Context) (first, last uint64, err error) {
	state, err := b.bounds(ctx, streamEvents)
	return state.First, state.Last, err
}
