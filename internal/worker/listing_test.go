package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/snapshot"
)

// listLog is what a lister reads.
type listLog interface {
	Snapshots
	Events
}

// twice lists a session, then another, then the first again.
type twice struct{ listLog }

func (twice) ListSnapshots(_ context.Context, _ int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error) {
	for i, token := range []string{"a", "b", "a"} {
		h := snapshot.Header{Open: i}
		if err := fn(token, uint64(i+1), h.Map(), time.Unix(int64(i), 0)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// TestListedTwice: a session whose snapshot was replaced while it was listed is in
// the listing once, with its last snapshot.
func TestListedTwice(t *testing.T) {
	l, err := lister{log: twice{}}.snapshots(t.Context())
	if err != nil || !l.complete || len(l.stored) != 2 {
		t.Fatalf("got %+v, %v, want two sessions", l, err)
	}
	if a, b := l.stored[0], l.stored[1]; a.token != "a" || a.open != 2 || a.written.Unix() != 2 || b.token != "b" {
		t.Errorf("got %+v and %+v, want a with 2 calls, and b", a, b)
	}
}

// heads confirms the events of session a, and has no event of the others.
type heads struct {
	listLog
	mu   sync.Mutex
	read []string // sessions whose heads were read
}

func (h *heads) Confirm(_ context.Context, expected []eventlog.Expected) (confirmed []bool) {
	for _, e := range expected {
		confirmed = append(confirmed, e == eventlog.Expected{Token: "a", Type: events.ToolCallStart, ID: events.ID{Seq: 1}})
	}
	return confirmed
}

func (h *heads) Head(_ context.Context, token string) (uint64, events.Record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.read = append(h.read, token)
	return 0, events.Record{}, nil
}

// TestHeadsRead: heads are read only of sessions whose last event is not confirmed, and
// only where a power loss may have taken it.
func TestHeadsRead(t *testing.T) {
	now := time.Now()
	last := events.ID{Seq: 1}
	stored := []listed{
		{token: "a", last: last, kind: events.ToolCallStart, written: now},
		{token: "b", last: last, kind: events.ToolCallStart, written: now},
		{token: "c", last: last, written: now}, // an earlier version's
		{token: "d", last: last, written: now.Add(-2 * lossWindow)},
		{token: "e", written: now}, // no events
	}
	h := &heads{}
	open, err := lister{log: h, atOnce: 2}.open(t.Context(), stored)
	if err != nil {
		t.Fatal(err)
	}
	var lacking []string
	for _, s := range open {
		lacking = append(lacking, s.token)
	}
	slices.Sort(h.read)
	if want := []string{"b", "c"}; !slices.Equal(h.read, want) || !slices.Equal(lacking, want) {
		t.Errorf("heads read of %q, lacking are %q, want %q", h.read, lacking, want)
	}
}
