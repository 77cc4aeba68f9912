package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// within bounds how long a test waits for a client.
const within = 3 * time.Minute

// job is a job of a client; jobs.mjs describes how it is run.
type job struct {
	Job      string          `json:"job"`
	Kind     string          `json:"kind"`
	URL      string          `json:"url"`
	Session  string          `json:"session"`
	Times    int             `json:"times,omitempty"`    // how often the client connects, one time after the other
	Messages json.RawMessage `json:"messages,omitempty"` // that the client has already
	Types    []string        `json:"types,omitempty"`    // of the events to read
	Live     string          `json:"live,omitempty"`     // how new events are read
	Runs     int             `json:"runs,omitempty"`     // that end before the client stops
}

// process is a node process that runs jobs with one client library.
type process struct {
	program string
	stdin   io.Writer
	ended   chan struct{} // closed at the end of its output

	mu   sync.Mutex // guards the fields below, and writes to stdin
	last int
	jobs map[string]*running
}

// running is a job that was started.
type running struct {
	job
	process *process
	opened  chan struct{} // closed when its stream is open
	answer  chan answer   // gets its end
}

// answer is a line of the output of a process.
type answer struct {
	Job     string
	Open    bool
	State   json.RawMessage
	Error   string
	Warning string
}

// startProcess starts a node process, which ends with the test.
func startProcess(t *testing.T, program string) *process {
	t.Helper()
	cmd := exec.Command("node", "--experimental-websocket", program) // which node 20 needs
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{program: program, stdin: stdin, ended: make(chan struct{}), jobs: map[string]*running{}}
	go p.read(t, stdout)
	t.Cleanup(func() {
		// A client that failed a test can have open streams. Errors mean that the
		// process has ended already.
		_ = cmd.Process.Kill()
		<-p.ended
		_ = cmd.Wait()
	})
	return p
}

// read reads the output of the process.
func (p *process) read(t *testing.T, out io.Reader) {
	defer close(p.ended)
	for d := json.NewDecoder(bufio.NewReader(out)); ; {
		var a answer
		if err := d.Decode(&a); err != nil {
			return
		}
		if a.Warning != "" {
			t.Errorf("%s: %s", p.program, a.Warning)
			continue
		}
		p.mu.Lock()
		r := p.jobs[a.Job]
		p.mu.Unlock()
		if a.Open {
			close(r.opened)
		} else {
			r.answer <- a
		}
	}
}

// start starts a job.
func (p *process) start(t *testing.T, j job) *running {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	j.Job = strconv.Itoa(p.last)
	r := &running{job: j, process: p, opened: make(chan struct{}), answer: make(chan answer, 1)}
	p.jobs[j.Job] = r
	if err := json.NewEncoder(p.stdin).Encode(j); err != nil {
		t.Fatalf("%s: %v", p.program, err)
	}
	return r
}

// awaitOpen waits until the stream of the job is open.
func (r *running) awaitOpen(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	select {
	case <-r.opened:
	case a := <-r.answer:
		t.Fatalf("%s %s %s: it ends before its stream is open: %s%s", r.process.program, r.Kind, r.URL, a.Error, a.State)
	case <-r.process.ended:
		t.Fatalf("%s has ended", r.process.program)
	case <-ctx.Done():
		t.Fatalf("%s %s %s: no stream is open", r.process.program, r.Kind, r.URL)
	}
}

// state returns what the client shows at the end of the job.
func (r *running) state(t *testing.T) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	select {
	case a := <-r.answer:
		if a.Error != "" {
			t.Errorf("%s %s %s: %s", r.process.program, r.Kind, r.URL, a.Error)
		}
		return a.State
	case <-r.process.ended:
		t.Fatalf("%s has ended", r.process.program)
	case <-ctx.Done():
		t.Errorf("%s %s %s: it does not end", r.process.program, r.Kind, r.URL)
	}
	return nil
}

// requireClients skips the test where node or the libraries are absent, or fails it if
// STREAMER_REQUIRE_BROWSER is 1.
func requireClients(t *testing.T) {
	t.Helper()
	what := ""
	if _, err := exec.LookPath("node"); err != nil {
		what = "no node found: install nodejs"
	} else if _, err := os.Stat("node_modules"); err != nil {
		what = "no client libraries found: run npm ci --ignore-scripts in test/clients"
	}
	absent(t, what)
}

// absent skips or fails the test if something is absent.
func absent(t *testing.T, what string) {
	t.Helper()
	switch {
	case what == "":
	case os.Getenv("STREAMER_REQUIRE_BROWSER") == "1":
		t.Fatal(what)
	default:
		t.Skip(what)
	}
}
