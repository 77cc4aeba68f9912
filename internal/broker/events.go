package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// Stored is one message of the event log.
type Stored struct {
	Seq     uint64
	Prev    uint64 // sequence of the session's event before it, 0 if it is the first
	Subject string
	Token   string
	Type    events.Type // Synthetic for a synthetic message
	ID      events.ID
	Call    string
	At      time.Time // when the server stored it
	Header  nats.Header
	Data    []byte

	linked bool // Prev is known
}

// ChainLast gives sequence and id of the last event of a session, as its
// stream's leader knows it; zeros if there is none.
func (b *Broker) ChainLast(ctx context.Context, token string) (seq uint64, id events.ID, err error) {
	m, err := b.lastMessage(ctx, streamEvents, chain(token))
	if m == nil || err != nil {
		return 0, events.ID{}, err
	}
	s, err := storedEvent(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data})
	return s.Seq, s.ID, err
}

// Event reads one event of a session by its sequence: ErrNotFound if there is
// none, or it is another session's.
func (b *Broker) Event(ctx context.Context, token string, seq uint64) (Stored, error) {
	if seq > 0 { // the server takes 0 for no sequence at all
		m, err := b.message(ctx, streamEvents, map[string]any{"seq": seq})
		if err != nil {
			return Stored{}, err
		}
		if m != nil && sessionOf(m.Subject) == token {
			return storedEvent(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data})
		}
	}
	return Stored{}, fmt.Errorf("%w: event %d of session %s", ErrNotFound, seq, token)
}

// Events reads the events after sequence after, of one session or, with token
// "", of all, in order up to the log's present end. It returns fn's error or
// ctx's.
func (b *Broker) Events(ctx context.Context, token string, after uint64, fn func(Stored) error) error {
	if token != "" { // a consumer is dear where there is nothing to read
		seq, _, err := b.ChainLast(ctx, token)
		if err != nil || seq <= after {
			return err
		}
	}
	return b.history(ctx, token, after, fn)
}

func (b *Broker) history(ctx context.Context, token string, after uint64, fn func(Stored) error) error {
	err := b.read(ctx, eventReading(token, func(batch []stored, caughtUp bool) error {
		if err := eachEvent(batch, fn); err != nil {
			return err
		}
		if caughtUp {
			return errStop
		}
		return nil
	}), after+1)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// eventReading asks for little ahead: many clients read histories at once, and
// most are short.
func eventReading(token string, deliver func([]stored, bool) error) reading {
	r := reading{stream: streamEvents, credit: 512, deliver: deliver}
	if token != "" {
		r.filter = chain(token)
	}
	return r
}

func eachEvent(batch []stored, fn func(Stored) error) error {
	for _, m := range batch {
		s, err := storedEvent(m)
		if err != nil {
			return err
		}
		if err := fn(s); err != nil {
			return err
		}
	}
	return nil
}

// storedEvent reads subject and headers of a message of the event log.
func storedEvent(m stored) (s Stored, err error) {
	s = Stored{Seq: m.seq, At: m.at, Subject: m.subject, Token: sessionOf(m.subject), Header: m.header, Data: m.data}
	s.Type = events.Type(m.subject[strings.LastIndexByte(m.subject, '.')+1:])
	s.Call = m.header.Get(events.HeaderCall)
	if prev := m.header.Get(headerPrev); prev != "" {
		s.Prev, err = strconv.ParseUint(prev, 10, 64)
		s.linked = err == nil
	}
	if err == nil {
		s.ID, err = events.ParseID(m.header.Get(events.HeaderEventID))
	}
	if err != nil {
		return s, fmt.Errorf("broker: message %d of stream %s on %s is no event: %w", m.seq, streamEvents, m.subject, err)
	}
	return s, nil
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
	return b.bounds(ctx, streamEvents)
}
