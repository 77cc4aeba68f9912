package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/worker"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// TestChaos checks that the event log is the fold of the inputs although faults of
// servers, streamers and the network are injected.
func TestChaos(t *testing.T) {
	testkit.Campaign(t)
	chaos(t, false)
}

// chaos runs a cluster with faults and checks its logs. If power is set, half of the faults
// are those of power and disks.
func chaos(t *testing.T, power bool) {
	d, seed := settings(t)
	t.Logf("STREAMER_CHAOS=%v STREAMER_SEED=%d", d, seed)
	long := d >= time.Minute // it waits for what takes a minute or more
	logs := logDir(t)
	var both, server []patched
	interval, serverSkews, workerSkews := syncEvery, [size]string{}, [size]string{}
	if os.Getenv("STREAMER_CHAOS_SKEW") != "" {
		both = []patched{skewed}
		serverSkews, workerSkews = [size]string{"0", "7", "-5"}, [size]string{"-9", "3", "20"}
	}
	if power {
		server = []patched{opened, synced}
		interval = "always"
	}
	programs := build(t, both, server)
	c := newCluster(t, programs.server, logs, interval, serverSkews)
	plan := newPlan(t, seed, power)
	var more []string
	if long && !plan.loses { // a rolled back log has again what was erased
		more = []string{"--retain", retain}
	}
	f := newFleet(t, programs.streamer, logs, c, seed, workerSkews, more...)
	b := openBroker(t, c, broker.Options{})
	awaitPartitions(t, b)
	t.Cleanup(func() {
		for _, p := range append(c.servers[:], f.workers[:]...) {
			if t.Failed() {
				t.Log(p.name, p.unexpectedExits())
			}
		}
	})

	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	convs := newConversations(t, b, paceOf(d))
	convs.browsers = newBrowsers(t, b, f)
	convs.publish(ctx, seed)
	l := &ledger{t: t}
	l.publish(ctx, c.clientURL(), f.http[:], seed, convs.pace, func(token string, follow bool) {
		convs.tokens.add(token)
		if follow {
			convs.readers.follow(token)
		}
	})
	op := &operator{t: t, streamer: programs.streamer, url: c.url(), gateways: f.http[:], closed: map[string]bool{}}
	inj := &faultInjector{
		t: t, c: c, f: f, plan: plan, op: op, tokens: &convs.tokens, count: map[string]int{},
		nc: connect(t, c.url()), outside: connect(t, c.clientURL()), system: connect(t, c.systemURL()),
	}
	er := newErasers(t, programs.streamer, c.url(), f.http[:], &convs.tokens)
	if !plan.loses {
		er.run(ctx, seed, max(time.Second, d/200), long)
	}
	var watching sync.WaitGroup
	watch, attended := context.WithCancel(t.Context())
	watching.Go(func() { op.watch(watch, rand.New(rand.NewPCG(seed, 2))) })
	inj.run(ctx, rand.New(rand.NewPCG(seed, 1)))
	c.heal()
	f.heal()
	inj.unblock()
	convs.wg.Wait()
	l.wg.Wait()
	er.wg.Wait()
	attended()
	watching.Wait()
	f.restart() // so that erasures which others began are completed now

	healed := time.Now()
	r := awaitSettled(t, inj, b, op)
	t.Logf("settled %.1f s after the last fault%s", time.Since(healed).Seconds(), inj.summary())
	if !plan.loses {
		er.awaitErased(t, inj, b, long)
	}
	if inj.bits {
		ctx, cancel := context.WithTimeout(t.Context(), settleTimeOf(t))
		r = awaitEqual(ctx, t, inj, b, op) // of what is left after the erasures
		cancel()
		t.Logf("verify names %d sessions that differ, and %d that lost inputs", len(r.Differences), len(r.Lost))
		for _, d := range r.Differences[:min(5, len(r.Differences))] {
			t.Log(d)
		}
	}
	awaitReaders(t, convs, r)
	all, err := histories(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	n, inLog, places := count(t, b), stored(t, b), places(all)
	kept := convs.kept(inj.lost, places)
	t.Log(er.summary(places))
	if power {
		t.Logf("%d bytes were lost because servers had not synced them", inj.unsynced)
	}
	t.Logf("%d inputs published (%d acknowledged as duplicates) and %d by clients, %d in the log; %d sessions (%d compared with their inputs, %d that lost inputs), %d events, %d calls, of which %d timed out and %d were cancelled",
		len(convs.acked), convs.dups, len(l.entries), len(inLog), n.sessions, r.Sessions, len(r.Lost), n.events, n.calls, n.timeouts, n.cancelled)
	t.Logf("%d inputs over HTTP were refused because new sessions were paused", l.refused)
	audit, err := l.audit(t.Context(), b, inLog, inj.lost, places)
	if err != nil {
		t.Fatal(err)
	}
	if len(inj.lost) > 0 {
		t.Logf("the input stream was rolled back %d times: %d acknowledged inputs were lost, and %d of clients, of which %d had been folded; recover repaired the log %d times, was killed %d times, and closed %d held sessions",
			len(inj.lost), convs.lost(inLog), audit.lost, audit.folded, op.repaired, op.killed, len(op.closed))
	}
	wrong := append(append(n.wrong, missing(inLog, kept)...), inj.leaked(t, b)...)
	wrong = append(wrong, audit.wrong...)
	if !plan.loses {
		wrong = append(wrong, er.wrong(places, inLog, append(convs.acked, l.acked()...))...)
		wrong = append(wrong, restored(t, inj, op, b)...)
	}
	if held := op.sessions(); len(inj.lost) == 0 && (len(held) > 0 || op.repaired > 0) {
		wrong = append(wrong, fmt.Sprintf("the log was repaired %d times and sessions were held although no input was lost: %v", op.repaired, held))
	}
	if inj.bits {
		t.Logf("%d findings about sessions", len(wrong))
		wrong = unnamed(wrong, r)
	}
	wrong = append(wrong, inj.logs()...)
	for i, w := range wrong {
		if i == 20 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	if n.calls == 0 || n.timeouts == 0 || n.cancelled == 0 {
		t.Error("there are no calls, no timeouts or no cancelled calls: the streams did not arrive")
	}
}

// TestControl checks that the checks find faults: on the same cluster, two workers
// append events without conditions.
func TestControl(t *testing.T) {
	testkit.Campaign(t)
	logs := logDir(t)
	c := newCluster(t, build(t, nil, nil).server, logs, syncEvery, [size]string{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var brokers []*client.Broker
	for range 2 {
		brokers = append(brokers, openBroker(t, c, broker.Options{Replicas: size, Partitions: partitions}))
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{}, len(brokers))
	for i, b := range brokers {
		w := &worker.Worker{Log: unguarded{b, brokertest.Unguard(b.Broker)}, Logger: zerolog.Nop(), Options: worker.Options{Nonce: strconv.Itoa(i)}}
		go func() {
			_ = w.Run(running, []int{0, 1, 2, 3, 4, 5}) // ends when it is stopped
			done <- struct{}{}
		}()
	}
	publishing, enough := context.WithTimeout(ctx, 3*time.Second)
	defer enough()
	convs := newConversations(t, brokers[0], pace{inputInterval, 1})
	convs.publish(publishing, 1)
	convs.wg.Wait()
	convs.readers.end()
	stop()
	for range brokers {
		<-done
	}
	r, err := audit.Verification{Log: brokers[0]}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := count(t, brokers[0])
	if len(r.Differences) == 0 || n.repeated == 0 {
		t.Errorf("%d of %d sessions differ and %d of %d events are repeated: want some of both, because appends have no condition", len(r.Differences), r.Sessions, n.repeated, r.Events)
	}
	t.Logf("%d of %d sessions differ, %d of %d events are repeated", len(r.Differences), r.Sessions, n.repeated, r.Events)
}

// unguarded is a broker that publishes as if without conditions.
type unguarded struct {
	*client.Broker
	brokertest.Unguarded
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

// logDir returns the directory of the logs of the processes.
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

// How often openBroker tries to open the streams, and how long each time. On a loaded
// machine, servers that start elect their leaders several times.
const (
	openTries = 4
	openTime  = time.Minute
)

// openBroker waits for the cluster and opens the streams.
func openBroker(t *testing.T, c *cluster, o broker.Options) *client.Broker {
	t.Helper()
	o.URL, o.Replicas, o.Partitions = c.url(), size, partitions
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(t.Context(), openTime)
		b, err := client.OpenBroker(ctx, o)
		cancel()
		switch {
		case err == nil:
			t.Cleanup(func() { b.Close() })
			return b
		case try == openTries || !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("the streams cannot be opened at try %d of %d: %v", try, openTries, err)
		}
		t.Logf("the streams are not there after %v: %v", openTime, err)
	}
}

// connect connects to the cluster until the end of the test.
func connect(t *testing.T, url string) *nats.Conn {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// awaitPartitions waits until every partition has an owner and its rules. Before,
// calls would have other deadlines.
func awaitPartitions(t *testing.T, b *client.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	waitFor(t, ctx, b, func() (list []string, err error) {
		_, last, err := b.InputBounds(ctx)
		for p := range b.Partitions() {
			m, _, err := b.LoadCheckpoint(ctx, p)
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
