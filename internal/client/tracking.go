package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"streamer/internal/audit"
	"streamer/internal/events"
)

// Tracking reads the events of a session while inputs are published to it.
type Tracking struct {
	broker *Broker
	token  string
	from   uint64 // sequence in the event log before the first input
	stop   context.CancelFunc
	tail   sync.WaitGroup
	failed error // of the tail, once it has ended

	mu         sync.Mutex     // guards the fields below
	recent     []published    // inputs that later events may name, oldest first
	early      []events.Event // rejected events of inputs that may be ours
	rejections events.Rejections
	replayStatus
}

type replayStatus struct {
	inputs, calls, rejected int
	line                    int       // of the last input
	lastInput               uint64    // sequence of the last input
	lastEvent               events.ID // that was read
}

// maxRecent is the number of inputs before the last event that later events may name.
// An input can be rejected after others, when it is known that they do not continue its
// text.
const maxRecent = 1000

// maxEarly bounds the number of rejected events that precede the acknowledgement of
// the input that may have caused them.
const maxEarly = 10_000

type published struct {
	seq      uint64
	line     int
	rejected bool
}

// Track reads the events of a session that are stored from now on, until Close. It does
// not end with ctx, because inputs that were published have an outcome.
func (b *Broker) Track(ctx context.Context, token string) (*Tracking, error) {
	_, from, err := b.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tracking{broker: b, token: token, from: from}
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	t.tail.Go(func() { t.failed = b.Tail(ctx, token, from, t.take, nil) })
	return t, nil
}

// Close stops reading the events.
func (t *Tracking) Close() {
	t.stop()
	t.tail.Wait()
}

// Stored records an input that was published. A nil Tracking records nothing.
func (t *Tracking) Stored(seq uint64, line int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inputs++
	t.line = line
	t.lastInput = seq
	t.recent = append(t.recent, published{seq: seq, line: line})
	early := t.early
	t.early = nil
	for i := range early {
		t.reject(&early[i])
	}
}

// end records the input that ends the stream, which has no line.
func (t *Tracking) end(seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastInput = seq
}

// Outcome waits until the inputs are folded. complete is false if ctx ended, or if no
// event came for the time limit.
func (t *Tracking) Outcome(ctx context.Context, limit time.Duration) (rejected int, why events.Rejections, complete bool) {
	complete = t.await(ctx, limit)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rejected, t.rejections, complete
}

func (t *Tracking) take(s events.Record, _ bool) error {
	if s.Seq == 0 { // the end of the history
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastEvent = s.ID
	if n, _ := t.find(s.ID.Seq); n > 2*maxRecent {
		t.recent = slices.Delete(t.recent, 0, n-maxRecent)
	}
	switch s.Type {
	case events.ToolCallStart:
		t.calls++
	case events.Rejected:
		var e events.Event
		if err := json.Unmarshal(s.Data, &e); err != nil {
			return fmt.Errorf("event %d: %w", s.Seq, err)
		}
		t.reject(&e)
	}
	return nil
}

// reject counts a rejected event that an input of ours caused. An event can come
// before the acknowledgement of its input.
func (t *Tracking) reject(e *events.Event) {
	if e.Input > t.lastInput {
		if len(t.early) < maxEarly {
			t.early = append(t.early, *e)
		}
		return
	}
	n, ours := t.find(e.Input)
	if !ours {
		return // another client published the input
	}
	in := &t.recent[n]
	if !in.rejected {
		in.rejected = true
		t.rejected++
	}
	t.rejections.Add(e.Reason, e.Offset.Bytes(), in.line)
}

func (t *Tracking) find(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(t.recent, seq, func(a published, seq uint64) int { return cmp.Compare(a.seq, seq) })
}

const storedEvery = 200 * time.Millisecond

// await waits until the partition is folded past the last input and all events of the
// session are read. It returns false if no event comes for the time limit.
func (t *Tracking) await(ctx context.Context, limit time.Duration) bool {
	tick := time.NewTicker(storedEvery)
	defer tick.Stop()
	before := t.status()
	if before.lastInput == 0 {
		return true
	}
	for last := time.Now(); time.Since(last) < limit; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
		now := t.status()
		if now.lastEvent != before.lastEvent {
			before, last = now, time.Now()
		}
		if now.lastEvent.Seq > now.lastInput {
			return true // of another input, which was folded later
		}
		if t.folded(ctx, now, limit) {
			return true
		}
	}
	return false
}

// folded reports whether the partition is folded past the last input and all events of
// the session are read. An error is no answer: a later check has one.
func (t *Tracking) folded(ctx context.Context, s replayStatus, limit time.Duration) bool {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	stored, err := t.broker.StoredTo(ctx, t.broker.Partition(t.token))
	if err != nil || stored <= s.lastInput {
		return false
	}
	_, head, err := t.broker.Head(ctx, t.token)
	return err == nil && (head.Seq <= t.from || !head.ID.After(s.lastEvent))
}

func (t *Tracking) status() replayStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replayStatus
}

// progress returns how far the replay of a file with that many lines has come; 0 if
// their number is not known.
func (t *Tracking) progress(lines uint64) audit.Progress {
	s := t.status()
	p := audit.Progress{What: "lines", Done: uint64(s.line), Total: lines, Note: fmt.Sprintf("calls: %d", s.calls)}
	if lines == 0 {
		p.What, p.Done = "inputs", uint64(s.inputs)
	}
	if s.rejected > 0 {
		p.Note += fmt.Sprintf(", rejected: %d", s.rejected)
	}
	return p
}
