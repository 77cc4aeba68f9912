package client

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/gateway"
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
	testkit.UntilTrue(t, "the snapshots", func() bool {
		list, err := e.b.Sessions(t.Context(), 9)
		if err != nil || len(list) != 5 {
			return false
		}
		for _, s := range list {
			if s.Session != "tmp-open" && s.Session != "tmp-run" {
				if done, err := e.b.finished(t.Context(), s.Session, s.Last); err != nil || !done {
					return false
				}
			}
		}
		return true
	})
	due := func(session string, quiet time.Duration) bool {
		return strings.HasPrefix(session, "tmp-") && quiet < time.Hour
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if n, err := e.b.Retire(brokertest.Deadline(t), due); n > 2 || err != nil {
				t.Errorf("erased %d, %v", n, err)
			}
		})
	}
	both.Wait()
	for _, session := range []string{"tmp-1", "tmp-2"} {
		if left := e.left(session); len(left) != 2 || !slices.Contains(left, "session_erased") {
			t.Errorf("%s: %v is left", session, left)
		}
	}
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
	list, err := e.b.Sessions(t.Context(), 9)
	i := slices.IndexFunc(list, func(s gateway.SessionInfo) bool { return s.Session == "keep" })
	if err != nil || i < 0 {
		t.Fatalf("got %v, %v", list, err)
	}
	e.publish("keep", inputs.Delta, "{}")
	if done, err := e.b.finished(t.Context(), "keep", list[i].Last); done || err != nil {
		t.Errorf("an input since: finished %t, %v", done, err)
	}
}
