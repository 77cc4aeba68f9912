package eventlog

import (
	"errors"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
)

// TestSharedHistory checks that tails that read a history at the same time share one
// read, that each gets all events after its cursor, and that nothing is held
// afterwards.
func TestSharedHistory(t *testing.T) {
	const n = 50
	b := start(t, broker.Options{})
	last := grow(t, b, "s", 1, n, 0)
	began, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { // its history is not at its end while the others read
		ended <- b.Tail(brokertest.Deadline(t), "s", 0, func(e events.Record, _ bool) error {
			if e.Seq == 1 {
				close(began)
				<-release
			}
			if e.Seq == n+1 {
				return errEnough
			}
			return nil
		}, nil)
	}()
	<-began
	all, again, rest := follow(t, b, "s", 0), follow(t, b, "s", 0), follow(t, b, "s", 10)
	all.want(1, n)
	again.want(1, n)
	rest.want(11, n)
	b.sharing.mu.Lock()
	if h := b.sharing.of[historyKey{"s", 0, b.Epoch()}]; len(h.entries) != n || len(b.sharing.slots) != 1 {
		t.Errorf("shared histories: got %d with %d entries, want 1 with %d", len(b.sharing.slots), len(h.entries), n)
	}
	b.sharing.mu.Unlock()
	grow(t, b, "s", n+1, 1, last)
	late := follow(t, b, "s", 0)
	all.want(n+1, n+1)
	rest.want(n+1, n+1)
	late.want(1, n+1) // the shared entries and the one after them
	close(release)
	if err := <-ended; !errors.Is(err, errEnough) {
		t.Errorf("first tail: %v", err)
	}
	for _, f := range []*follower{all, again, rest, late} {
		f.waitLive()
	}
	b.sharing.mu.Lock()
	defer b.sharing.mu.Unlock()
	if len(b.sharing.of) > 0 || len(b.sharing.slots) > 0 {
		t.Errorf("after the tails: %d histories are kept, and %d shared, want none", len(b.sharing.of), len(b.sharing.slots))
	}
}

// TestSharedHistoryLimits checks that a history above its limit, and one above the
// number of shared ones, is read to its end by each tail.
func TestSharedHistoryLimits(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{})
	const n, size = 10, 900 << 10
	body, prev := []byte(`"`+strings.Repeat("x", size)+`"`), uint64(0)
	for i := range n {
		e := &events.Event{Type: events.ToolCallArgsDelta, EventID: events.ID{Seq: uint64(i + 1)}, Call: "1.0"}
		prev = must(t, b, b.EventPub("s", e, body, nil, prev))
	}
	_, leave := b.enter(t.Context(), "s", 0)
	defer leave()
	follow(t, b, "s", 0).want(1, n)
	b.sharing.mu.Lock()
	if got, want := len(b.sharing.of[historyKey{"s", 0, b.Epoch()}].entries), sharedBytes/(size+entryBytes); got != want {
		t.Errorf("entries within the limit: got %d, want %d", got, want)
	}
	b.sharing.mu.Unlock()

	for range sharedMost - 1 { // one is in use
		b.sharing.slots <- struct{}{}
	}
	_, leave = b.enter(t.Context(), "s", 1)
	defer leave()
	follow(t, b, "s", 1).want(2, n)
	b.sharing.mu.Lock()
	defer b.sharing.mu.Unlock()
	if h := b.sharing.of[historyKey{"s", 1, b.Epoch()}]; h.stop != nil {
		t.Error("a history is shared above the limit")
	}
}
