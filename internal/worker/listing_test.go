package worker

import (
	"context"
	"testing"
	"time"
)

// listLog is what a lister reads.
type listLog interface {
	Snapshots
	Events
}

// twice lists a session, then another, then the first again.
type twice struct{ listLog }

func (twice) ListSnapshots(_ context.Context, _ int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error) {
	for i, s := range []struct{ token, open string }{{"a", "1"}, {"b", "0"}, {"a", "2"}} {
		if err := fn(s.token, uint64(i+1), map[string]string{HeaderOpen: s.open}, time.Unix(int64(i), 0)); err != nil {
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
