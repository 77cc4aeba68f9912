package soak

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"streamer/test/output"
)

// build builds the program and returns its path.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "streamer")
	if text, err := exec.Command("go", "build", "-o", program, "streamer/cmd/streamer").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return program
}

// process is a process of streamer that can be killed and started again.
type process struct {
	t       *testing.T
	program string
	nats    string
	log     output.Tail

	mu   sync.Mutex
	cmd  *exec.Cmd
	page atomic.Pointer[string] // address of the HTTP API
}

// startProcess starts a process and waits until it is ready.
func startProcess(t *testing.T, program, nats string) *process {
	t.Helper()
	p := &process{t: t, program: program, nats: nats}
	t.Cleanup(func() { p.kill(syscall.SIGKILL) })
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the process is ready", func() error { return p.ready() })
	return p
}

// start starts the process.
func (p *process) start() error {
	cmd := exec.Command(p.program, "serve", "--nats-url", p.nats, "--http-listen", "127.0.0.1:0", "--log-level", "warn",
		"--result-timeout", "2s", "--outage-grace", "1s", "--evict-after", "3s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = &p.log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.mu.Lock()
	p.cmd = cmd
	p.mu.Unlock()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("serve: %w\n%s", err, p.log.String())
	}
	page := strings.TrimRight(strings.TrimSpace(strings.TrimPrefix(line, "page")), "/")
	p.page.Store(&page)
	return nil
}

// kill ends the process with a signal, and waits for its end.
func (p *process) kill(sig syscall.Signal) {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if cmd == nil || cmd.ProcessState != nil {
		return
	}
	_ = cmd.Process.Signal(sig) // it may have ended
	_ = cmd.Wait()
}

// url returns the address of a path of the HTTP API.
func (p *process) url(path string) string { return *p.page.Load() + path }

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

// until waits until wrong returns nil.
func until(t *testing.T, what string, wrong func() error) {
	t.Helper()
	limit, tick := time.After(patience), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		err := wrong()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not after %v: %v", what, patience, err)
		}
	}
}

// patience bounds how long a test waits for a state.
const patience = 2 * time.Minute

// duration returns the duration of the run.
func duration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("STREAMER_SOAK")
	if text == "" {
		return 4 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		t.Fatalf("invalid STREAMER_SOAK=%s: need a duration of at least 1s, such as 1h", text)
	}
	return d
}
