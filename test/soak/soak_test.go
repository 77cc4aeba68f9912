package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/test/local"
	"streamer/test/testkit"
)

// TestSoak runs two processes under load. The connection of the first to NATS is cut
// again and again, the second is killed and started again, and clients read, stop to
// read and leave. In the end the first is as small as at the beginning, and the logs
// are right.
func TestSoak(t *testing.T) {
	d := duration(t)
	server := brokertest.NewServer(t)
	cable := testkit.NewLink(t, strings.TrimPrefix(server.URL(), "nats://"))
	steady := startProcess(t, "nats://"+cable.Addr())
	fragile := startProcess(t, server.URL())
	shared(t, steady)
	before, err := measure(steady, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &load{js: brokertest.JetStream(t, server.URL()), steady: steady}
	c := &clients{processes: []*process{steady, fragile}}
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	var wg sync.WaitGroup
	kills, cuts := 0, 0
	wg.Go(func() { l.run(ctx) })
	wg.Go(func() { c.run(ctx) })
	wg.Go(func() { cuts = repeat(ctx, d, func() error { cable.Drop(); return nil }, t) })
	wg.Go(func() {
		kills = repeat(ctx, d, func() error {
			fragile.run.Load().End([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[rand.IntN(2)])
			return fragile.start()
		}, t)
	})
	all := watch(ctx, t, steady, d)
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs of the processes:\n%s\n%s", steady.run.Load().Log.String(), fragile.run.Load().Log.String())
		}
	})
	for _, failed := range []*error{l.failed.Load(), c.wrong.Load()} {
		if failed != nil {
			t.Error(*failed)
		}
	}
	t.Logf("%v: %d inputs acknowledged, %d event streams with %d events read, process killed %d times, connection cut %d times",
		d, l.acked.Load(), c.streams.Load(), c.events.Load(), kills, cuts)
	shared(t, steady)
	checkLogs(t, server.URL(), l.acked.Load())
	checkFlat(t, all, d < time.Minute)
	checkReturned(t, steady, before)
}

// shared waits until the process is ready and carries half of the partitions.
func shared(t *testing.T, p *process) {
	t.Helper()
	testkit.Until(t, "half of the partitions", func() error {
		m, err := p.metrics()
		if carried := m["streamer_partitions_carried"]; err == nil && carried != 8 {
			err = fmt.Errorf("%.0f partitions are carried", carried)
		}
		return errors.Join(err, p.ready())
	})
}

// repeat does a fault at random moments, about every 20 s, or four times in a short
// run, until ctx ends. It returns how often.
func repeat(ctx context.Context, d time.Duration, fault func() error, t *testing.T) (n int) {
	every := min(20*time.Second, d/4)
	for {
		pause(ctx, every/2+rand.N(every))
		if ctx.Err() != nil {
			return n
		}
		if err := fault(); err != nil {
			t.Error(err)
			return n
		}
		n++
	}
}

// watch measures a process until ctx ends, 400 times, and logs 20 of the samples.
func watch(ctx context.Context, t *testing.T, p *process, d time.Duration) (all []sample) {
	tick := time.NewTicker(max(d/400, 100*time.Millisecond))
	defer tick.Stop()
	began, logged := time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return all
		case <-tick.C:
		}
		s, err := measure(p, time.Since(began))
		if err != nil {
			t.Error(err)
			return all
		}
		if all = append(all, s); s.at >= logged {
			t.Log(s)
			logged += d / 20
		}
	}
}

// checkLogs waits until all inputs are read and all calls are closed, and compares both
// logs. Calls that are not in the event log yet are not open: the new owner of a
// partition reads what was stored while it had none.
func checkLogs(t *testing.T, url string, acked int64) {
	t.Helper()
	b, err := client.Dial(t.Context(), client.BrokerOptions{Options: broker.Options{URL: url}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	testkit.Until(t, "results of all calls", func() error {
		if err := testkit.Check(local.Unread(t.Context(), b)); err != nil {
			return err
		}
		open, err := b.OpenEvents(t.Context())
		for token, n := range open {
			if n.Calls > 0 {
				err = errors.Join(err, fmt.Errorf("session %s: %d calls are open", token, n.Calls))
			}
		}
		return err
	})
	if err := unanswered(t.Context(), b); err != nil {
		t.Error(err)
	}
	stored := int64(0)
	for _, kind := range []string{"delta", "result", "interrupt", "end"} {
		if err := b.Subjects(t.Context(), broker.StreamInputs, "_llm.*.*."+kind, func(_ string, n int) { stored += int64(n) }); err != nil {
			t.Fatal(err)
		}
	}
	if stored < acked {
		t.Errorf("%d inputs are stored, %d were acknowledged", stored, acked)
	}
	r, err := audit.Verification{Log: b}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d inputs folded again, %d sessions and %d events compared", r.Inputs, r.Sessions, r.Events)
	for _, d := range r.Differences[:min(3, len(r.Differences))] {
		t.Error(d)
	}
	if !r.Faultless() || r.Events == 0 {
		t.Errorf("verify: %d differences, %d unreadable snapshots", len(r.Differences), len(r.Unreadable))
	}
}

// unanswered returns an error if a call has no result, or more than one.
func unanswered(ctx context.Context, b *client.Broker) error {
	open, seen := map[string]bool{}, map[string]int{}
	err := b.Events(ctx, "", 0, func(r events.Record) error {
		switch key := r.Token + " " + r.Call; r.Type {
		case events.ToolCallStart:
			open[key] = true
		case events.ToolCallResult:
			delete(open, key)
			seen[key]++
		}
		return nil
	})
	for key, n := range seen {
		if n > 1 {
			err = errors.Join(err, fmt.Errorf("call %s has %d results", key, n))
		}
	}
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("%d calls are open", len(open))
	}
	return err
}
