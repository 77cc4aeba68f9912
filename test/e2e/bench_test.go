package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/lifecycle"
	"streamer/internal/server"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// BenchmarkBrowser measures the time from publishing a delta to its event at
// an SSE client, at 1,000 deltas per second over 20 sessions, each watched by
// one client, on the embedded server.
func BenchmarkBrowser(b *testing.B) {
	const sessions, rate = 20, 1000
	c := server.NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = b.TempDir(), "", "127.0.0.1:0"
	c.Rules.Base.Texts = lifecycle.Every
	ctx, stop := context.WithCancel(context.Background())
	s, err := server.Open(ctx, c, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(ctx) })
	defer func() { stop(); wg.Wait(); s.Close() }()
	<-s.Opened()

	got := make(chan time.Duration, 1<<16)
	for i := range sessions {
		wg.Go(func() { watch(ctx, s.Page()+fmt.Sprintf("v1/sessions/b%d/events", i), got) })
	}
	acks := make(chan broker.Ack, 1<<14)
	send := func(i int) {
		token := fmt.Sprintf("b%d", (i+sessions)%sessions)
		data := fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%d "}}]}`, time.Now().UnixNano())
		s.Broker.Publish(s.Broker.InputPub(token, "delta", fmt.Sprintf("%s:%d", token, i), nil, []byte(data)), acks)
	}
	warm := time.After(time.Second) // the clients connect, the sessions load
	for i := range sessions {
		send(-sessions + i)
	}
	<-warm
	for len(got) > 0 {
		<-got
	}
	var delays []time.Duration
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	n := 0
	for b.Loop() {
		<-tick.C
		send(n)
		n++
	}
	for len(delays) < n {
		select {
		case d := <-got:
			delays = append(delays, d)
		case <-time.After(10 * time.Second):
			b.Fatalf("%d of %d arrived", len(delays), n)
		}
	}
	slices.Sort(delays)
	b.ReportMetric(float64(delays[n/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(delays[n*99/100].Microseconds()), "p99-µs")
}

// watch reads an event stream and sends the age of each text to got.
func watch(ctx context.Context, url string, got chan<- time.Duration) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		now := time.Now()
		for word := range strings.FieldsSeq(gjson.Get(data, "content").Str) {
			if sent, err := strconv.ParseInt(word, 10, 64); err == nil {
				got <- now.Sub(time.Unix(0, sent))
			}
		}
	}
}

// TestBench checks that a small run prints one JSON object with every measurement.
func TestBench(t *testing.T) {
	testkit.Campaign(t)
	args := []string{"bench", "--sessions", "100", "--inputs", "2000", "--call", "20", "--rounds", "1", "--open", "100", "--backlog", "100", "--duration", "1s", "--json"}
	out, err := exec.Command(testkit.Program(t), args...).Output()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	for _, path := range []string{
		"throughput.inputs_per_s", "throughput.events_per_s", "throughput.cpu_us_per_input", "latency.p99_us",
		"open_sessions.opened_per_s", "open_sessions.recovery_ms", "open_sessions.recovery_cpu_ms",
		"recovery.0.first.s", "recovery.2.after_kill.s", "recovery.2.after_kill.api_requests_per_session",
	} {
		if got := gjson.GetBytes(out, path).Num; got <= 0 {
			t.Errorf("%s: got %v, want more than 0, in %s", path, got, out)
		}
	}
}
