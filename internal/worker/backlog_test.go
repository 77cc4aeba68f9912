package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// killed runs a worker with a connection of its own until do returns. What it has under way
// then is lost, as in a process that is killed.
func (h *fixture) killed(s *brokertest.Server, opts Options, do func(*Worker)) {
	h.t.Helper()
	b, err := openBroker(h.t.Context(), broker.Options{URL: s.URL()})
	if err != nil {
		h.t.Fatal(err)
	}
	opts.Nonce = fmt.Sprint(time.Now().UnixNano())
	w := &Worker{Log: b, Options: opts, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, all(h.broker)) }()
	do(w)
	_ = b.Close()
	cancel()
	<-done
}

// TestRestartInBacklog checks how many requests a restart in the middle of a backlog costs,
// as the server got them: none for a session without a snapshot, and two for one with
// events behind its snapshot.
func TestRestartInBacklog(t *testing.T) {
	t.Parallel()
	const sessions, others = 100, 30 // requests of each partition
	s := brokertest.NewServer(t)
	h := open(t, broker.Options{URL: s.URL()})
	last := uint64(0)
	publish := func(name string, n int) (opened func()) {
		seqs := map[string]uint64{}
		for i := range sessions {
			token := fmt.Sprint(name, i)
			last = h.publish(token, "delta", fmt.Sprintf(callDelta, n, n))
			seqs[token] = last
		}
		return func() {
			for token, seq := range seqs {
				h.wait(token, func(e events.Record) bool { return e.Type == events.ToolCallArgsComplete && e.ID.Seq == seq })
			}
		}
	}
	opened := publish("saved", 1)
	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond})
	opened()
	stop()
	again, began := publish("saved", 2), publish("begun", 1)
	h.killed(s, Options{SnapshotEvery: time.Hour}, func(*Worker) { again(); began() })
	publish("unread", 1)

	requests := countRequests(t, s)
	h.killed(s, Options{}, func(w *Worker) {
		h.until(w, "all is folded", func(s Stats) bool { return folded(s) > last })
		n := requests()
		if most := 2*sessions + others*h.broker.Partitions(); n["all"] > most || n["CONSUMER.CREATE"] > others {
			t.Errorf("got %v, want at most %d: two for each of %d sessions, and %d for each partition", n, most, sessions, others)
		}
	})
	h.work(Options{})
	if r := h.quiet(); len(r.Differences) > 0 || r.Sessions != 3*sessions {
		t.Errorf("%+v", r)
	}
}

// countRequests returns a function that counts the requests to the API of a server since the
// call, by kind and in all.
func countRequests(t *testing.T, s *brokertest.Server) func() map[string]int {
	t.Helper()
	conn, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	sub, err := conn.SubscribeSync("$JS.API.>")
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() map[string]int {
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		n := map[string]int{}
		arrived, _, _ := sub.Pending()
		for range arrived {
			m, err := sub.NextMsg(brokertest.Within)
			if err != nil {
				t.Fatal(err)
			}
			n[strings.Join(strings.Split(m.Subject, ".")[2:4], ".")]++
			n["all"]++
		}
		return n
	}
}

// TestKilledInBacklog checks that the events are those of a fold of the inputs, whenever
// workers are killed in a backlog.
func TestKilledInBacklog(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	s := brokertest.NewServer(t)
	h := open(t, broker.Options{URL: s.URL()})
	const sessions, rounds, kills = 150, 4, 8
	last := uint64(0)
	for n := range rounds {
		for i := range sessions {
			token := fmt.Sprint("s", i)
			if rnd.IntN(2) == 0 {
				last = h.publish(token, "delta", fmt.Sprintf(callDelta, n, n))
			} else {
				last = h.publish(token, "result", fmt.Sprintf(result, rnd.IntN(n+1)))
			}
		}
	}
	for range kills {
		opts := Options{SnapshotEvery: time.Duration(1+rnd.IntN(200)) * time.Millisecond, DurableAfter: 10 * time.Millisecond}
		some := uint64(1 + rnd.IntN(2*sessions))
		h.killed(s, opts, func(w *Worker) {
			h.until(w, "it has folded some inputs, or all", func(s Stats) bool {
				return s.Folded >= some || folded(s) > last
			})
		})
	}
	h.work(Options{})
	if r := h.quiet(); len(r.Differences) > 0 || r.Sessions != sessions {
		t.Errorf("%+v", r)
	}
}

// folded returns the first input that is not folded.
func folded(s Stats) uint64 {
	if len(s.Carried) == 0 {
		return 0
	}
	next := s.Carried[0].Next
	for _, c := range s.Carried {
		next = min(next, c.Next)
	}
	return next
}
