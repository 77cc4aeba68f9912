package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/snapshot"
)

// twice lists a session, then another, then the first again.
type twice struct{ Snapshots }

func (twice) ListSnapshots(_ context.Context, _ int, fn func(token string, rev uint64, header map[string]string, at time.Time) error) (complete bool, err error) {
	for i, token := range []string{"a", "b", "a"} {
		h := snapshot.Header{Open: i}
		if err := fn(token, uint64(i+1), h.Map(), time.Unix(int64(i), 0)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// TestListedTwice checks that a session whose snapshot was replaced while it was listed is
// in the listing once, with its last snapshot.
func TestListedTwice(t *testing.T) {
	l, err := lister{log: twice{}}.list(t.Context())
	if err != nil || !l.complete || len(l.stored) != 2 {
		t.Fatalf("got %+v, %v, want two sessions", l, err)
	}
	if a, b := l.stored[0], l.stored[1]; a.token != "a" || a.Open != 2 || b.token != "b" {
		t.Errorf("got %+v and %+v, want a with 2 calls, and b", a, b)
	}
}

// TestListed checks what a listing, which can be stale, changes: the timer and the open
// calls of a session that is only known, or was not, and nothing of one in memory.
func TestListed(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		q := o.q
		for _, token := range []string{"packed", "live"} {
			m.append(token, inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
			m.append(token, inputs.Result, fmt.Appendf(nil, result, 1))
			m.append(token, inputs.End, []byte("{}"))
			o.take(t)
			o.rest(t)
		}
		q.pack(q.table.of["packed"], m.now)
		soon := events.At(m.now.Add(time.Minute))
		var l listing
		for _, token := range []string{"packed", "live", "other"} {
			l.stored = append(l.stored, listedSession{token, snapshot.Header{Input: 1, Open: 1, Timer: soon, Time: events.At(m.now), At: m.now}})
		}
		if err := o.step(operationResult{&operations{effects: &effects{}, running: 1}, &listingResult{listing: l}}); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"packed": packed, "live": live, "other": known}
		if got := o.levels(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the sessions have the levels %v, want %v", got, want)
		}
		if q.table.open != 1 || q.clock.at["other"] != soon || q.clock.has("live") {
			t.Errorf("%d calls are open and the timers are %v, want those of the session that was not known, due at %d", q.table.open, q.clock.at, soon)
		}
		if err := tallied(q); err != nil {
			t.Error(err)
		}
	})
}
