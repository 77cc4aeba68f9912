package client

import (
	"slices"
	"strconv"
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
	due := func(session string, quiet time.Duration) (time.Duration, bool) {
		return quiet, strings.HasPrefix(session, "tmp-") && quiet < time.Hour
	}
	all := func(int) bool { return true }
	ignore := func(int, time.Duration) {}
	testkit.UntilTrue(t, "the end of two sessions", func() bool { // which have snapshots then
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := e.b.Retire(brokertest.Deadline(t), all, due, ignore); err != nil {
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
	if n, err := e.b.Retire(brokertest.Deadline(t), all, due, ignore); n != 0 || err != nil {
		t.Errorf("again: erased %d, %v", n, err)
	}
	e.verify()
	stop()
	e.publish("keep", inputs.Delta, "{}")
	if n, err := e.b.Retire(brokertest.Deadline(t), all, func(session string, _ time.Duration) (time.Duration, bool) { return 0, session == "keep" }, ignore); n != 0 || err != nil {
		t.Errorf("an input since: erased %d, %v", n, err)
	}
}

// TestRetireOrder: the session that is idle the longest is erased first, those of partitions of
// other processes are left to these, and the number of those that are left is reported.
func TestRetireOrder(t *testing.T) {
	e := newEraser(t)
	e.work()
	var own []string
	for i := range 12 {
		session := "s" + strconv.Itoa(i)
		e.call(session, "c"+session, "x")
		seq := e.publish(session, inputs.End, `{"reason":"completed"}`)
		e.await(session, func(r events.Record) bool { return r.Type == events.RunFinished && r.ID.Seq == seq })
		if e.listed(session, true); e.b.Partition(session) == 1 {
			own = append(own, session)
		}
	}
	var due []string
	var left []int
	var last []time.Time                                              // of each
	testkit.UntilTrue(t, "the sessions of a partition", func() bool { // which are not finished before their snapshots
		_, err := e.b.Retire(brokertest.Deadline(t), func(p int) bool { return p == 1 }, func(session string, quiet time.Duration) (time.Duration, bool) {
			return quiet, true
		}, func(n int, d time.Duration) { left, last = append(left, n), append(last, time.Now().Add(-d)) })
		if err != nil {
			t.Fatal(err)
		}
		due = slices.DeleteFunc(slices.Clone(own), func(session string) bool { return len(e.left(session)) == 2 })
		return len(due) == 0
	})
	if first := last[:left[0]]; !slices.IsSortedFunc(first, func(a, b time.Time) int { return a.Truncate(time.Millisecond).Compare(b) }) {
		t.Errorf("they are erased in the order %v", first)
	}
	if left[0] != len(own) || left[len(left)-1] != 0 {
		t.Errorf("left: %v, want from %d to 0", left, len(own))
	}
	for i := range 12 {
		if session := "s" + strconv.Itoa(i); e.b.Partition(session) == 0 && len(e.left(session)) <= 2 {
			t.Errorf("%s of another process is erased", session)
		}
	}
	e.verify()
}
