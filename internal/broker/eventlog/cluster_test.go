package eventlog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
)

// Two writers append to the same sessions while the leader of three replicas is stopped
// and started again. Every session's event log is complete and without duplicates.
func TestCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers take some seconds")
	}
	const sessions, length = 20, 60
	c := brokertest.NewCluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	open := func() testLog {
		b, err := broker.Open(ctx, broker.Options{URL: c.URL(), Replicas: 3})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return testLog{b, New(b)}
	}
	one, two := open(), open()
	followed := follow(t, two, "s0", 0)
	followed.waitLive()
	write := func(b testLog, half func()) error {
		for n := 1; n <= length; n++ {
			if n == length/2 {
				half()
			}
			for i := range sessions {
				if err := append1(ctx, b, fmt.Sprint("s", i), n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- write(two, func() {}) }()
	err := write(one, func() {
		s := c.Leader(t, one.Broker, broker.StreamEvents)
		s.Stop()
		s.Start()
	})
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	checkComplete(t, one, sessions, length)
	followed.want(1, length)
	if err := one.Ready(ctx); err != nil {
		t.Error(err)
	}
}

// append1 appends event n to a session, unless another writer was first.
func append1(ctx context.Context, b testLog, token string, n int) error {
	for {
		seq, last, err := b.Head(ctx, token)
		id := last.ID
		if err != nil || id.Seq >= uint64(n) {
			return err
		}
		if id.Seq != uint64(n-1) { // an outdated answer: the condition would not hold
			continue
		}
		a := b.PublishWait(ctx, event(b, token, n, seq))
		if !errors.Is(a.Err, broker.ErrConflict) {
			return a.Err
		}
	}
}
