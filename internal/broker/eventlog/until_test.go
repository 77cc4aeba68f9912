package eventlog

import (
	"errors"
	"fmt"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats.go/jetstream"
)

// TestTailOfDeletedEvents checks that a tail ends with an error where the events that
// it has to read are deleted before it reads them.
func TestTailOfDeletedEvents(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{})
	last := grow(t, b, "s", 1, 2, 0)
	live, blocked, deleted, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- b.Tail(brokertest.Deadline(t), "s", 0, func(e events.Record, _ bool) error {
			switch {
			case e.Seq == 0:
				close(live)
			case e.ID.Seq == 3:
				close(blocked)
				<-deleted
			case e.ID.Seq > 3:
				return fmt.Errorf("got event %v, which is deleted", e.ID)
			}
			return nil
		}, nil)
	}()
	<-live
	last = grow(t, b, "s", 3, 1, last)
	<-blocked
	cut(t, b, "s", func() { last = grow(t, b, "s", 4, 2, last) })
	grow(t, b, "s", 6, 1, last) // names event 5, which did not arrive
	if err := b.Flush(brokertest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	deleteEvents(t, b, "s")
	close(deleted)
	if err := <-done; !errors.Is(err, errGone) {
		t.Errorf("got %v, want errGone", err)
	}
}

// TestReadUpToDeletedEvent checks that a reading up to a head that is deleted meanwhile
// returns the events before it, and then an error.
func TestReadUpToDeletedEvent(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{})
	grow(t, b, "s", 1, 3, 0)
	head := grow(t, b, "deleted", 1, 1, 0)
	deleteEvents(t, b, "deleted")
	var got []uint64
	var failed error
	for e, err := range b.upTo(brokertest.Deadline(t), broker.Reading{Stream: broker.StreamEvents, Credit: tailCredit}, 0, head) {
		if failed = err; err == nil {
			got = append(got, e.Seq)
		}
	}
	if fmt.Sprint(got) != "[1 2 3]" || !errors.Is(failed, errGone) {
		t.Errorf("got events %v and %v, want events 1 to 3 and errGone", got, failed)
	}
}

// deleteEvents deletes the events of a session.
func deleteEvents(t *testing.T, b testLog, token string) {
	t.Helper()
	s, err := brokertest.JetStream(t, b.OwnURL()).Stream(brokertest.Deadline(t), broker.StreamEvents)
	if err == nil {
		err = s.Purge(brokertest.Deadline(t), jetstream.WithPurgeSubject(filterOf(token)))
	}
	if err != nil {
		t.Fatal(err)
	}
}
