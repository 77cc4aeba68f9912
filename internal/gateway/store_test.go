package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// memory is a Store in memory: an event log of all sessions, and the published
// inputs.
type memory struct {
	mu     sync.Mutex
	first  uint64 // first sequence of the log
	log    []entry
	grown  chan struct{} // closed and replaced when an event is added
	inputs []input
	blobs  map[string][]byte
	broken error // returned by every method, if set
	info   []SessionInfo
}

type entry struct {
	token string
	events.Record
}

type input struct {
	token  string
	kind   inputs.Kind
	msgID  string
	header inputs.Header
	data   string
}

func newMemory() *memory {
	return &memory{first: 1, grown: make(chan struct{}), blobs: map[string][]byte{}}
}

// add appends an event to the log and returns its sequence.
func (m *memory) add(session string, typ events.Type, data string) uint64 {
	return m.put(session, events.Record{Type: typ, Data: []byte(data)})
}

// put appends a record to the log, with the next sequence, which it returns.
func (m *memory) put(session string, r events.Record) uint64 {
	token, err := events.Token(session)
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Seq, r.Token = m.first+uint64(len(m.log)), token
	for _, e := range slices.Backward(m.log) {
		if e.token == token {
			r.Prev = e.Seq
			break
		}
	}
	m.log = append(m.log, entry{token, r})
	close(m.grown)
	m.grown = make(chan struct{})
	return r.Seq
}

// some appends n events of a few hundred bytes.
func (m *memory) some(session string, n int) {
	for i := range n {
		m.add(session, events.ToolCallArgsDelta, fmt.Sprintf(`{"type":"tool_call_args_delta","n":%d,"args":"%s"}`, i, bytes.Repeat([]byte("x"), 300)))
	}
}

// forget removes the events before first.
func (m *memory) forget(first uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = m.log[first-m.first:]
	m.first = first
}

func (m *memory) Tail(ctx context.Context, token string, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	return m.TailMany(ctx, []string{token}, nil, after, fn, flush)
}

func (m *memory) TailMany(ctx context.Context, tokens []string, match func(string) bool, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	sel := selection{tokens, match}
	live := false
	for at := after; ; {
		m.mu.Lock()
		broken, grown := m.broken, m.grown
		at = max(at, m.first-1)
		added := m.log[at-m.first+1:]
		m.mu.Unlock()
		if broken != nil {
			return broken
		}
		for _, e := range added {
			at = e.Seq
			if !sel.has(e.token) {
				continue
			}
			if err := fn(e.Record, live); err != nil {
				return err
			}
		}
		if !live {
			live = true
			if err := fn(events.Record{}, true); err != nil {
				return err
			}
		}
		if flush != nil {
			if err := flush(); err != nil {
				return err
			}
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *memory) EventsOf(_ context.Context, token string, typ events.Type, after uint64, fn func(events.Record) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.log {
		if e.token != token || e.Type != typ || e.Seq <= after {
			continue
		}
		if err := fn(e.Record); err != nil {
			return err
		}
	}
	return m.broken
}

func (m *memory) LastOf(ctx context.Context, token string, typ events.Type) (last events.Record, err error) {
	err = m.EventsOf(ctx, token, typ, 0, func(r events.Record) error { last = r; return nil })
	return last, err
}

func (m *memory) FirstEvent(_ context.Context, token string) (events.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.log {
		if e.token == token {
			return e.Record, m.broken
		}
	}
	return events.Record{}, m.broken
}

func (m *memory) Head(_ context.Context, token string) (seq uint64, last events.Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.log {
		if e.token == token {
			last = e.Record
		}
	}
	return last.Seq, last, m.broken
}

func (m *memory) SessionAt(_ context.Context, seq uint64) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.log {
		if e.Seq == seq {
			return e.token, m.broken
		}
	}
	return "", m.broken
}

func (m *memory) Retention() (inputs, events time.Duration) { return 12 * time.Hour, 24 * time.Hour }

func (m *memory) Publish(_ context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return 0, false, m.broken
	}
	i := slices.IndexFunc(m.inputs, func(in input) bool { return in.msgID == msgID })
	if i >= 0 {
		return uint64(i + 1), true, nil
	}
	m.inputs = append(m.inputs, input{token, kind, msgID, header, string(data)})
	return uint64(len(m.inputs)), false, nil
}

// Track returns a tracking that finds each input rejected whose text has "bad".
func (m *memory) Track(context.Context, string) (Tracking, error) { return &memoryTracking{m: m}, nil }

type memoryTracking struct {
	m   *memory
	why events.Rejections
}

func (t *memoryTracking) Stored(seq uint64, line int) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	if strings.Contains(t.m.inputs[seq-1].data, "bad") {
		t.why.Add(&events.Reason{Code: events.BadShape, Text: "it is bad"}, 3, line)
	}
}

func (t *memoryTracking) Outcome(context.Context, time.Duration) (int, events.Rejections, bool) {
	return t.why.Count, t.why, true
}

func (t *memoryTracking) Close() {}

func (m *memory) Sessions(_ context.Context, limit int) ([]SessionInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.info[:min(limit, len(m.info))]), m.broken
}

func (m *memory) Event(_ context.Context, token string, seq uint64) (events.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.log {
		if e.Seq == seq && e.token == token {
			return e.Record, m.broken
		}
	}
	return events.Record{}, events.ErrNotFound
}

func (m *memory) Blob(_ context.Context, ref events.Ref) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[ref.SHA256]
	if !ok {
		return nil, events.ErrNotFound
	}
	return b, m.broken
}

func (m *memory) EventBounds(context.Context) (first, last uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first, m.first + uint64(len(m.log)) - 1, m.broken
}

func (m *memory) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.broken
}

func (m *memory) MaxPayload() int { return 1 << 20 }

// Erase returns the number of the session's events, and keeps them.
func (m *memory) Erase(_ context.Context, token string) (e Erased, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.log {
		if m.log[i].token == token {
			e.Events++
		}
	}
	return e, m.broken
}

// breakDown makes every method fail.
func (m *memory) breakDown() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = errors.New("the disk is full")
	close(m.grown)
	m.grown = make(chan struct{})
}

var at = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
