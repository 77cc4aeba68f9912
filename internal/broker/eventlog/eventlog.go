// Package eventlog appends the events of sessions under a condition, and reads
// and follows them.
//
// It promises:
//   - An append is stored only as the next event of its session's event log: it
//     names the session's last event, and the server refuses it where another
//     event is the last. So the same event is stored at most once, whatever fails
//     and however many processes append.
//   - Events of a session are read in the order of the log, without gap or
//     duplicate, through restarts of the server.
//   - A message that streamer did not append is skipped by every reader, and never
//     ends a session.
//   - A crash of a reading process loses nothing: a reader resumes after any
//     sequence.
package eventlog

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// Log is the event log of one broker. A process has one for each broker, because
// tails of one session share a subscription. Its methods may be called from any
// goroutine.
type Log struct {
	b       *broker.Broker
	watches watches
	sharing sharing
}

// New returns the event log of b.
func New(b *broker.Broker) *Log {
	l := &Log{b: b, sharing: sharing{of: map[historyKey]*sharedHistory{}, slots: make(chan struct{}, sharedMost)}}
	l.watches.l = l
	return l
}

// Entry is one message of the event log. It is an event unless it is forged.
type Entry struct {
	events.Record
	Subject string
	// Forged is the reason why the message is no event, "" if it is one. An event
	// has an id and the condition under which it was stored. A message without
	// them was published by a client that should not have the permission.
	Forged string

	linked bool // Prev is known
}

func filterOf(token string) string { return string(appendFilter(nil, token)) }

func appendFilter(dst []byte, token string) []byte {
	return append(append(append(dst, "toolcalls."...), token...), ".>"...)
}

// EraseEvents deletes the events of a session before a sequence and returns their number.
func (l *Log) EraseEvents(ctx context.Context, token string, before uint64) (int, error) {
	return l.b.Purge(ctx, broker.StreamEvents, filterOf(token), before)
}

func sessionOf(subject string) string {
	_, rest, _ := strings.Cut(subject, ".")
	token, _, _ := strings.Cut(rest, ".")
	return token
}

// EventPub returns the publish that appends an event to the event log of its
// session's token. Of e it uses Type, EventID and Call; body is what e.Body
// returned. prev is the sequence of the session's last message, 0 if there is
// none. trace is the trace context of the input: only the keys in
// inputs.TraceHeaders count.
func (l *Log) EventPub(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *broker.Pub {
	// Published on a subject of its own, so that subscribers of toolcalls.> never
	// see an append that is refused.
	b := append(make([]byte, 0, 256), '_')
	b = e.AppendSubject(b, token)
	subject := len(b)
	b = appendFilter(b, token)
	filter := len(b)
	b = e.EventID.Append(b)
	id := len(b)
	b = strconv.AppendUint(b, prev, 10)
	text := string(b) // of all strings: one allocation

	p := &eventPub{Pub: broker.Pub{Subject: text[:subject], Header: make(nats.Header, maxHeaders), Data: body}}
	// Always this same string: replicated streams identify the conditions in flight
	// by it.
	p.set(broker.HeaderPrevOf, text[subject:filter])
	p.set(events.HeaderEventID, text[filter:id])
	p.set(broker.HeaderPrev, text[id:])
	if e.Call != "" {
		p.set(events.HeaderCall, e.Call)
	}
	for _, k := range inputs.TraceHeaders() {
		if v := trace[k]; v != "" && len(v) <= inputs.MaxTrace {
			p.set(k, v)
		}
	}
	return &p.Pub
}

const maxHeaders = 6

// eventPub is the publish of an event with the values of its headers, in one piece of
// memory.
type eventPub struct {
	broker.Pub
	values [maxHeaders]string
}

func (p *eventPub) set(name, value string) {
	i := len(p.Header)
	p.values[i] = value
	p.Header[name] = p.values[i : i+1 : i+1]
}

func entryOf(m *broker.Message) Entry {
	e := Entry{Subject: m.Subject, Record: events.Record{
		Seq: m.Seq, At: m.At, Token: sessionOf(m.Subject), Call: m.Header.Get(events.HeaderCall), Data: m.Data,
		Type: events.Type(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]),
	}}
	var err error
	if prev := m.Header.Get(broker.HeaderPrev); prev != "" {
		e.Prev, err = strconv.ParseUint(prev, 10, 64)
		e.linked = err == nil
	}
	switch e.ID, err = events.ParseID(m.Header.Get(events.HeaderEventID)); {
	case err != nil:
		e.Forged = "no event id: " + err.Error()
	case !e.linked:
		e.Forged = "stored without a condition"
	}
	return e
}

// Event reads one event of a session by its sequence: events.ErrNotFound if there
// is none, or it is another session's.
func (l *Log) Event(ctx context.Context, token string, seq uint64) (events.Record, error) {
	m, err := l.b.MessageAt(ctx, broker.StreamEvents, seq)
	if err != nil {
		return events.Record{}, err
	}
	if m != nil && sessionOf(m.Subject) == token {
		if e := entryOf(m); e.Forged == "" {
			return e.Record, nil
		}
	}
	return events.Record{}, fmt.Errorf("%w: event %d of session %s", events.ErrNotFound, seq, token)
}

// SessionAt returns the token of the session of an event, "" if the event is not
// stored.
func (l *Log) SessionAt(ctx context.Context, seq uint64) (token string, err error) {
	m, err := l.b.MessageAt(ctx, broker.StreamEvents, seq)
	if err != nil || m == nil {
		return "", err
	}
	return sessionOf(m.Subject), nil
}

// Events reads the events after sequence after, of one session or, with token
// "", of all, in order up to the log's present end. It skips forged messages. It
// returns fn's error or ctx's.
func (l *Log) Events(ctx context.Context, token string, after uint64, fn func(events.Record) error) error {
	return l.Entries(ctx, token, after, genuine(fn))
}

func genuine(fn func(events.Record) error) func(Entry) error {
	return func(e Entry) error {
		if e.Forged != "" {
			return nil
		}
		return fn(e.Record)
	}
}

// EventsOf reads the events of one type of a session after sequence after, in order
// up to the log's present end. It skips forged messages. It returns fn's error or
// ctx's.
func (l *Log) EventsOf(ctx context.Context, token string, typ events.Type, after uint64, fn func(events.Record) error) error {
	r := readingOf(token)
	r.Filter = typeFilter(token, typ)
	return l.read(ctx, r, after, genuine(fn))
}

// LastOf reads the last event of one type of a session, zero if there is none. It
// costs one request.
func (l *Log) LastOf(ctx context.Context, token string, typ events.Type) (last events.Record, err error) {
	m, err := l.b.LastMessage(ctx, broker.StreamEvents, typeFilter(token, typ))
	if err != nil || m == nil {
		return last, err
	}
	if e := entryOf(m); e.Forged == "" {
		return e.Record, nil
	}
	err = l.EventsOf(ctx, token, typ, 0, func(r events.Record) error { last = r; return nil })
	return last, err
}

// Follow reads the events of one type of all sessions, without end: those that are stored,
// then once fn(events.Record{}), then new ones. It skips forged messages. It returns fn's error
// or ctx's.
func (l *Log) Follow(ctx context.Context, typ events.Type, fn func(events.Record) error) error {
	read, genuinely := false, genuine(fn)
	r := broker.Reading{Stream: broker.StreamEvents, Filter: typeFilter("*", typ), Credit: tailCredit}
	r.Deliver = func(batch []broker.Message, pending uint64) error {
		for i := range batch {
			if err := genuinely(entryOf(&batch[i])); err != nil {
				return err
			}
		}
		if read || pending > 0 {
			return nil
		}
		read = true
		return fn(events.Record{})
	}
	return l.b.Read(ctx, r, 1)
}

func typeFilter(token string, typ events.Type) string {
	return "toolcalls." + token + ".event." + string(typ)
}

// Entries reads what Events reads, and the forged messages too.
func (l *Log) Entries(ctx context.Context, token string, after uint64, fn func(Entry) error) error {
	r := readingOf(token)
	if token == "" {
		r.Credit = allCredit
	}
	return l.read(ctx, r, after, fn)
}

// allCredit is the number of messages that a reader of the whole log requests:
// only tools do that, one at a time.
const allCredit = 4 * broker.ReadCredit

// read is history for a reading that may find nothing: it avoids the consumer then.
func (l *Log) read(ctx context.Context, r broker.Reading, after uint64, fn func(Entry) error) error {
	if r.Filter != "" {
		m, err := l.b.LastMessage(ctx, broker.StreamEvents, r.Filter)
		if err != nil || m == nil || m.Seq <= after {
			return err
		}
	}
	return l.history(ctx, r, after, fn)
}

func (l *Log) history(ctx context.Context, r broker.Reading, after uint64, fn func(Entry) error) error {
	return l.b.ReadToEnd(ctx, r, after+1, broker.Each(func(m broker.Message) error { return fn(entryOf(&m)) }))
}

// Limits of one read of a history. Many clients read histories at once, most
// histories are short, and some clients stop reading. A reader that stops has
// buffered at most twice tailRead bytes.
const (
	tailCredit = 512
	tailRead   = 256 << 10
)

func readingOf(token string) broker.Reading {
	r := broker.Reading{Stream: broker.StreamEvents, Credit: tailCredit}
	if token != "" {
		r.Filter, r.Bytes = filterOf(token), tailRead
	}
	return r
}

// EventBounds returns the sequences of the first and the last event. In an empty
// log first is last + 1.
func (l *Log) EventBounds(ctx context.Context) (first, last uint64, err error) {
	bounds, err := l.b.Bounds(ctx, broker.StreamEvents)
	return bounds.First, bounds.Last, err
}
