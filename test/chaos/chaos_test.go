package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// TestChaos: whatever happens to servers, streamers and the network between
// them, the event log is what the inputs give.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster of processes takes a minute")
	}
	d, seed := settings(t)
	t.Logf("STREAMER_CHAOS=%v STREAMER_SEED=%d", d, seed)
	logs := logDir(t)
	overlay, serverSkews, workerSkews := "", [size]string{}, [size]string{}
	if os.Getenv("STREAMER_CHAOS_SKEW") != "" {
		overlay, serverSkews, workerSkews = skewOverlay(t), [size]string{"0", "7", "-5"}, [size]string{"-9", "3", "20"}
	}
	programs := build(t, overlay)
	c := newCluster(t, programs.server, logs, serverSkews)
	f := newFleet(t, programs.streamer, logs, c, seed, workerSkews)
	b := reach(t, c, broker.Options{})
	begin(t, b)
	t.Cleanup(func() {
		for _, p := range append(c.servers[:], f.workers[:]...) {
			if t.Failed() {
				t.Log(p.name, p.falls())
			}
		}
	})

	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	crowd := newCrowd(t, b)
	crowd.browsers = newBrowsers(t, b, f)
	crowd.publish(ctx, seed)
	book := &ledger{t: t}
	book.publish(ctx, c.clientURL(), seed, func(token string) {
		crowd.tokens.add(token)
		crowd.readers.follow(token)
	})
	fate := &fate{
		t: t, c: c, f: f, plan: newPlan(t, seed), tokens: &crowd.tokens, count: map[string]int{},
		nc: connect(t, c.url()), outside: connect(t, c.clientURL()),
	}
	fate.rage(ctx, rand.New(rand.NewPCG(seed, 1)))
	c.heal()
	f.heal()
	crowd.wg.Wait()
	book.wg.Wait()

	healed := time.Now()
	op := &operator{t: t, streamer: programs.streamer, url: c.url(), closed: map[string]bool{}}
	r := settled(t, fate, b, op)
	t.Logf("quiet %.1f s after the last mishap%s", time.Since(healed).Seconds(), fate.told())
	heard(t, crowd)
	n, there := count(t, b), stored(t, b)
	kept := crowd.kept(fate.lost)
	t.Logf("%d inputs published (%d answered as repetitions) and %d by clients, %d in the log; %d sessions (%d compared with their inputs, %d of which inputs were lost), %d events, %d calls, of which %d timed out and %d were cancelled",
		len(crowd.acked), crowd.dups, len(book.entries), len(there), n.sessions, r.Sessions, r.Lost, n.events, n.calls, n.timeouts, n.cancelled)
	audit, err := book.audit(t.Context(), b, there, fate.lost)
	if err != nil {
		t.Fatal(err)
	}
	if len(fate.lost) > 0 {
		t.Logf("the input stream was put back %d times: %d acknowledged inputs are lost, and %d of clients, of which %d had been folded; recover closed %d sessions that were held",
			len(fate.lost), crowd.lost(there), audit.lost, audit.folded, len(op.closed))
	}
	wrong := append(append(n.wrong, missing(there, kept)...), fate.reached(t)...)
	wrong = append(wrong, audit.wrong...)
	if held := op.sessions(); len(held) > 0 && len(fate.lost) == 0 {
		wrong = append(wrong, fmt.Sprintf("sessions were held although no input was lost: %v", held))
	}
	wrong = append(wrong, fate.logs()...)
	for i, w := range wrong {
		if i == 20 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	if n.calls == 0 || n.timeouts == 0 || n.cancelled == 0 {
		t.Error("calls of some kind are missing: the streams did not arrive")
	}
}

// TestControl: on the same cluster, two workers that append without conditions
// do harm, and the check notices.
func TestControl(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster of processes takes some seconds")
	}
	logs := logDir(t)
	c := newCluster(t, build(t, "").server, logs, [size]string{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var brokers []*app.Broker
	for range 2 {
		brokers = append(brokers, reach(t, c, broker.Options{Replicas: size, Partitions: partitions, NoCondition: true}))
	}
	carrying, stop := context.WithCancel(ctx)
	done := make(chan struct{}, len(brokers))
	for i, b := range brokers {
		w := &worker.Worker{Log: b, Logger: zerolog.Nop(), Options: worker.Options{Nonce: strconv.Itoa(i)}}
		go func() {
			_ = w.Run(carrying, []int{0, 1, 2, 3, 4, 5}) // it ends when it is stopped
			done <- struct{}{}
		}()
	}
	publishing, enough := context.WithTimeout(ctx, 3*time.Second)
	defer enough()
	crowd := newCrowd(t, brokers[0])
	crowd.publish(publishing, 1)
	crowd.wg.Wait()
	crowd.readers.end()
	stop()
	for range brokers {
		<-done
	}
	r, err := worker.Verify(ctx, brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	n := count(t, brokers[0])
	if len(r.Differences) == 0 || n.repeated == 0 {
		t.Errorf("%d of %d sessions differ and %d of %d events came again, although nothing guards them", len(r.Differences), r.Sessions, n.repeated, r.Events)
	}
	t.Logf("%d of %d sessions differ, %d of %d events came again", len(r.Differences), r.Sessions, n.repeated, r.Events)
}

// settings returns the duration of the test and the seed.
func settings(t *testing.T) (d time.Duration, seed uint64) {
	d, seed = 20*time.Second, uint64(time.Now().UnixNano())
	var err error
	if s := os.Getenv("STREAMER_CHAOS"); s != "" {
		if d, err = time.ParseDuration(s); err != nil {
			t.Fatal("STREAMER_CHAOS: ", err)
		}
	}
	if s := os.Getenv("STREAMER_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal("STREAMER_SEED: ", err)
		}
	}
	return d, seed
}

// logDir is where the processes' logs go.
func logDir(t *testing.T) string {
	dir := os.Getenv("STREAMER_CHAOS_LOGS")
	if dir == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(dir, t.Name()) //nolint:usetesting // the logs outlive the test
	if err != nil {
		t.Fatal(err)
	}
	t.Log("logs: ", dir)
	return dir
}

// reach waits for the cluster and opens the streams.
func reach(t *testing.T, c *cluster, o broker.Options) *app.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o.URL, o.Replicas, o.Partitions = c.url(), size, partitions
	b, err := app.OpenBroker(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func connect(t *testing.T, url string) *nats.Conn {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// begin waits until every partition is carried and has its rules, or calls
// would have the deadlines from before.
func begin(t *testing.T, b *app.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waitFor(t, ctx, b, func() (list []string, err error) {
		_, last, err := b.InputBounds(ctx)
		for p := range b.Partitions() {
			m, _, err := b.LoadMark(ctx, p)
			if err != nil {
				return nil, err
			}
			if m.Seq == 0 || last < uint64(b.Partitions()) {
				list = append(list, fmt.Sprintf("partition %d is at %d of %d", p, m.Seq, last))
			}
		}
		return list, err
	})
}
