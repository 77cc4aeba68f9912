package soak

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"streamer/test/testkit"
)

// process is a process of streamer that can be ended and started again.
type process struct {
	t    *testing.T
	nats string
	run  atomic.Pointer[testkit.Process]
}

// startProcess starts a process and waits until it is ready.
func startProcess(t *testing.T, nats string) *process {
	t.Helper()
	p := &process{t: t, nats: nats}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the process is ready", p.ready)
	return p
}

// start starts the process.
func (p *process) start() error {
	run := testkit.Start(p.t, "serve", "--nats-url", p.nats, "--http-listen", "127.0.0.1:0", "--log-level", "warn",
		"--result-timeout", "2s", "--outage-grace", "1s", "--evict-after", "3s")
	p.run.Store(run)
	if run.Page() == "" {
		return fmt.Errorf("serve ended\n%s", run.Log.String())
	}
	return nil
}

// url returns the address of a path of the HTTP API.
func (p *process) url(path string) string { return p.run.Load().Page() + path }

func (p *process) ready() error {
	reply, err := http.Get(p.url("/readyz"))
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %d", reply.StatusCode)
	}
	return nil
}

// metrics returns the metrics without labels.
func (p *process) metrics() (map[string]float64, error) {
	reply, err := http.Get(p.url("/metrics"))
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	all := map[string]float64{}
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); ok && err == nil {
			all[name] = n
		}
	}
	if len(all) == 0 {
		return nil, errors.New("/metrics is empty")
	}
	return all, lines.Err()
}

// duration returns the duration of the run. Without one, only a campaign runs.
func duration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("STREAMER_SOAK")
	if text == "" {
		testkit.Campaign(t)
		return 4 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		t.Fatalf("invalid STREAMER_SOAK=%s: need a duration of at least 1s, such as 1h", text)
	}
	return d
}
