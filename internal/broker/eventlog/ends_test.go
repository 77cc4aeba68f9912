package eventlog

import (
	"context"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
)

// The first, recent and open events are found by session and by partition.
func TestEventEnds(t *testing.T) {
	b := start(t, broker.Options{Partitions: 4})
	for i, token := range []string{"a", "b", "a"} {
		must(t, b, eventAfter(t, b, token, uint64(i+1)))
	}
	first, err := b.FirstEvent(brokertest.Deadline(t), "a")
	if err != nil || first.ID.Seq != 1 || first.Prev != 0 {
		t.Errorf("the first of a: got %+v, %v, want that of input 1", first, err)
	}
	if none, err := b.FirstEvent(brokertest.Deadline(t), "c"); err != nil || none.Seq != 0 {
		t.Errorf("the first of c: got %+v, %v, want none", none, err)
	}
	recent, err := b.RecentEvents(brokertest.Deadline(t), time.Now().Add(-time.Minute))
	ofA, ofB := recent[b.Partition("a")], recent[b.Partition("b")]
	if err != nil || ofA.Top.ID.Seq != 3 || ofB.Top.ID.Seq < 2 || ofA.Ends["a"].Last().ID.Seq != 3 || ofB.Ends["b"].Last().ID.Seq != 2 {
		t.Errorf("recent: got %+v, %v, want those of inputs 3 and 2", recent, err)
	}
	open, err := b.OpenEvents(brokertest.Deadline(t))
	if err != nil || open["a"].Calls != 2 || open["b"].Calls != 1 || len(open) != 2 {
		t.Errorf("open: got %v, %v, want 2 calls of a and 1 of b", open, err)
	}
}

// eventAfter returns the append of a call's start to a session.
func eventAfter(t *testing.T, b testLog, token string, seq uint64) *broker.Pub {
	t.Helper()
	prev, _, err := b.Head(context.Background(), token)
	if err != nil {
		t.Fatal(err)
	}
	e := events.Event{Type: events.ToolCallStart, EventID: events.ID{Seq: seq}, Call: "1.0"}
	return b.EventPub(token, &e, []byte("{}"), nil, prev)
}
