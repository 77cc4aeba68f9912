package client

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// TestRetire: finished sessions that are due are erased, by two processes at once, and no
// others: not one with an open call or an open run, and not one that got an input since it
// was listed.
func TestRetire(t *testing.T) {
	e := newEraser(t)
	stop := e.work()
	for _, session := range []string{"tmp-1", "tmp-2", "tmp-open", "tmp-run", "keep"} {
		if e.call(session, "c", "x"); session == "tmp-open" {
			e.publish(session, inputs.Delta, `{"type":"AIMessageChunk","id":"m2","tool_call_chunks":[{"index":0,"id":"d","name":"save","args":"{}"}]}`)
		}
		if session != "tmp-open" && session != "tmp-run" {
			seq := e.publish(session, inputs.End, `{"reason":"completed"}`)
			e.await(session, func(r events.Record) bool { return r.Type == events.RunFinished && r.ID.Seq == seq })
		}
	}
	due := func(session string, quiet time.Duration) bool {
		return strings.HasPrefix(session, "tmp-") && quiet < time.Hour
	}
	testkit.UntilTrue(t, "the end of two sessions", func() bool { // which have snapshots then
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := e.b.Retire(brokertest.Deadline(t), due); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		return len(e.left("tmp-1")) == 2 && len(e.left("tmp-2")) == 2
	})
	for _, session := range []string{"tmp-open", "tmp-run", "keep"} {
		if left := e.left(session); len(left) < 5 || slices.Contains(left, "session_erased") {
			t.Errorf("%s: %v is left", session, left)
		}
	}
	if n, err := e.b.Retire(brokertest.Deadline(t), due); n != 0 || err != nil {
		t.Errorf("again: erased %d, %v", n, err)
	}
	e.verify()
	stop()
	e.publish("keep", inputs.Delta, "{}")
	if n, err := e.b.Retire(brokertest.Deadline(t), func(session string, _ time.Duration) bool { return session == "keep" }); n != 0 || err != nil {
		t.Errorf("an input since: erased %d, %v", n, err)
	}
}
