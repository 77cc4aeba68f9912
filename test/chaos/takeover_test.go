//go:build takeover

package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

const takeoverSessions = 24 // some in each partition

// TestTakeover measures how long calls wait for their events when one of two processes is
// killed, and when the server is killed that leads the event stream: NATS elects another
// leader after 4 to 9 s. STREAMER_TAKEOVERS sets how often. It needs the build tag takeover.
func TestTakeover(t *testing.T) {
	rounds := 4
	if s := os.Getenv("STREAMER_TAKEOVERS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("STREAMER_TAKEOVERS=%s: need an integer of at least 1", s)
		}
		rounds = n
	}
	logs := logDir(t)
	programs := build(t, nil, nil)
	c := newCluster(t, programs.server, logs, syncEvery, [size]string{})
	f := newFleet(t, programs.streamer, logs, c, 1, [size]string{})
	b := openBroker(t, c, broker.Options{})
	f.workers[2].end(syscall.SIGTERM)
	nc := connect(t, c.url())
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{t: t}
	inj := &faultInjector{t: t, c: c, f: f, nc: nc}
	var took [2][]time.Duration // of processes, of servers
	for round := range rounds {
		victim := f.workers[round/2%2]
		if round%2 == 1 {
			victim = c.servers[c.leader(nc, "TOOLCALLS")]
		}
		awaitPartitions(t, b)
		testkit.UntilTrue(t, "all replicas", inj.awaitReplicas)
		for i := range 2 {
			testkit.Until(t, "half of the partitions", func() error { return f.carries(i, partitions/2) })
		}
		d := takeover(t, b, js, l, victim, fmt.Sprint("round", round))
		t.Logf("%s killed: %.2f s", victim.name, d.Seconds())
		took[round%2] = append(took[round%2], d)
		victim.start()
	}
	for i, what := range []string{"processes", "servers"} {
		if all := took[i]; len(all) > 0 {
			slices.Sort(all)
			t.Logf("%d %s killed: p50 %.2f s, p99 %.2f s", len(all), what, all[len(all)/2].Seconds(), all[len(all)*99/100].Seconds())
		}
	}
}

// carries returns an error unless a process carries n partitions.
func (f *fleet) carries(i, n int) error {
	reply, err := http.Get("http://" + f.http[i] + "/metrics")
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && !strings.Contains(string(text), fmt.Sprintf("\nstreamer_partitions_carried %d\n", n)) {
		err = fmt.Errorf("process %d does not carry %d partitions", i, n)
	}
	return err
}

// takeover kills a process, publishes a call in each of many sessions, and returns how long
// after the kill the event log has all of them.
func takeover(t *testing.T, b *client.Broker, js jetstream.JetStream, l *ledger, victim *process, prefix string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	killed := time.Now()
	victim.end(syscall.SIGKILL)
	var wg sync.WaitGroup
	for i := range takeoverSessions {
		wg.Go(func() {
			token := prefix + "-" + strconv.Itoa(i)
			open := `{"role":"assistant","tool_calls":[{"index":0,"id":"call","function":{"name":"count","arguments":"{}"}}]}`
			l.store(overNATS(js), entry{token: token, kind: "delta", key: "call"}, chunk("m", open, "null").data)
			err := testkit.Poll(ctx, func() error {
				begun, err := b.LastOf(ctx, token, events.ToolCallStart)
				if err == nil && begun.Seq == 0 {
					err = errors.New("the call has not begun")
				}
				return err
			})
			if err != nil {
				t.Errorf("session %s: %v", token, err)
			}
		})
	}
	wg.Wait()
	return time.Since(killed)
}
