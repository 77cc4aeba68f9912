package eventlog

import (
	"errors"
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
		})
	}()
	<-began
	all, again, rest := follow(t, b, "s", 0), follow(t, b, "s", 0), follow(t, b, "s", 10)
	all.want(1, n)
	again.want(1, n)
	rest.want(11, n)
	b.sharing.mu.Lock()
	r := b.sharing.of[sharingKey{"s", true}]
	if len(r.entries) != n || b.sharing.held != r.bytes || r.bytes == 0 {
		t.Errorf("shared history: got %d entries with %d bytes, want %d with %d", len(r.entries), r.bytes, n, b.sharing.held)
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
	if len(b.sharing.of) > 0 || b.sharing.held != 0 {
		t.Errorf("after the tails: %d histories with %d bytes are held, want none", len(b.sharing.of), b.sharing.held)
	}
}

// TestSharedHistoryLimit checks that a history above the limit of all is read to its
// end by each tail.
func TestSharedHistoryLimit(t *testing.T) {
	b := start(t, broker.Options{})
	grow(t, b, "s", 1, 5, 0)
	b.sharing.held = sharedEverHeld - 3*entryBytes
	_, leave := b.enter(t.Context(), "s", 0)
	defer leave()
	follow(t, b, "s", 0).want(1, 5)
	b.sharing.mu.Lock()
	defer b.sharing.mu.Unlock()
	if got := len(b.sharing.of[sharingKey{"s", true}].entries); got == 0 || got > 2 {
		t.Errorf("entries within the limit: got %d, want 1 or 2", got)
	}
}
