package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"

	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// minimal is a client that appends events as streamer does, with the same subjects,
// headers and conditions and one append in flight per session. It does nothing
// else: it keeps no event, and ends at the first failure.
type minimal struct {
	nc    *nats.Conn
	sub   *nats.Subscription
	inbox string
	make  func(token string, e *events.Event, body []byte, trace map[string]string, prev uint64) *broker.Pub

	mu      sync.Mutex
	changed sync.Cond
	of      map[string]*appends
	all     []*appends // their numbers are in the reply subjects
	pending int        // events without an acknowledgement
	err     error
}

// appends are those of one session.
type appends struct {
	token string
	reply string
	seq   uint64 // of its last event
	queue []event
}

// event is an event to append.
type event struct {
	input uint64 // sequence of the input that gives it
	token string
	meta  events.Event // Type, EventID and Call
	body  []byte
}

// maxAhead bounds the events that wait, as the queues of a worker are bounded.
const maxAhead = 40_000

// newMinimal returns a client with a connection of its own.
func (r *rig) newMinimal(ctx context.Context) (*minimal, error) {
	nc, err := r.Connect(ctx)
	if err != nil {
		return nil, err
	}
	m := &minimal{nc: nc, inbox: nc.NewInbox() + ".", make: r.Broker.EventPub, of: map[string]*appends{}}
	m.changed.L = &m.mu
	if m.sub, err = nc.Subscribe(m.inbox+"*", m.acked); err != nil {
		return nil, fmt.Errorf("subscribing to acknowledgements: %w", err)
	}
	_ = m.sub.SetPendingLimits(-1, -1) // bounded by the number of sessions
	return m, nil
}

// append appends an event behind those of its session. It waits while too many
// wait.
func (m *minimal) append(e event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.pending >= maxAhead && m.err == nil {
		m.changed.Wait()
	}
	s := m.of[e.token]
	if s == nil {
		s = &appends{token: e.token, reply: m.inbox + strconv.Itoa(len(m.all))}
		m.of[e.token] = s
		m.all = append(m.all, s)
	}
	m.pending++
	s.queue = append(s.queue, e)
	if len(s.queue) == 1 {
		m.send(s)
	}
	return m.err
}

// send publishes the first event of a session's queue.
func (m *minimal) send(s *appends) {
	e := &s.queue[0]
	p := m.make(s.token, &e.meta, e.body, nil, s.seq)
	m.fail(m.nc.PublishMsg(&nats.Msg{Subject: p.Subject, Reply: s.reply, Header: p.Header, Data: p.Data}))
}

func (m *minimal) fail(err error) {
	if err != nil && m.err == nil {
		m.err = err
		m.changed.Broadcast()
	}
}

// acked takes the answer to an append and sends the next one of its session.
func (m *minimal) acked(msg *nats.Msg) {
	n, err := strconv.Atoi(msg.Subject[len(m.inbox):])
	_, rest, ok := bytes.Cut(msg.Data, []byte(`"seq":`))
	seq, err2 := strconv.ParseUint(string(bytes.TrimRight(rest, "}")), 10, 64)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil || err2 != nil || !ok || n >= len(m.all) {
		m.fail(fmt.Errorf("append refused: %s", msg.Data))
		return
	}
	s := m.all[n]
	s.seq = seq
	s.queue = s.queue[1:]
	m.pending--
	if m.pending == 0 || m.pending == maxAhead-1 {
		m.changed.Broadcast()
	}
	if len(s.queue) > 0 {
		m.send(s)
	}
}

// flush waits until all events are acknowledged.
func (m *minimal) flush(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.fail(ctx.Err())
	})()
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.pending > 0 && m.err == nil {
		m.changed.Wait()
	}
	return m.err
}
