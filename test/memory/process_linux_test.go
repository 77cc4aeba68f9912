//go:build memory

package memory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
)

// program is the measured program, its data directory and its server, which is "" for the
// embedded one.
type program struct {
	t                *testing.T
	binary, dir, url string
}

// process is one run of the program.
type process struct {
	program
	cmd  *exec.Cmd
	log  *bytes.Buffer
	page string // address of the HTTP API
}

// build builds the program. With STREAMER_MEMORY_EXTERNAL in the environment, it uses a
// server in the process of the test, and its memory is that of the worker alone.
func build(t *testing.T) program {
	t.Helper()
	p := program{t: t, binary: testkit.Program(t), dir: t.TempDir()}
	if os.Getenv("STREAMER_MEMORY_EXTERNAL") != "" {
		p.url = brokertest.NewServer(t).URL()
	}
	return p
}

// startTime is the maximum time until a process is ready.
const startTime = time.Minute

// start runs the program until the test ends or stop is called. The environment
// variable STREAMER_MEMORY_FLAGS adds flags, to compare settings.
func (p program) start(flags ...string) *process {
	p.t.Helper()
	flags = append(flags, strings.Fields(os.Getenv("STREAMER_MEMORY_FLAGS"))...)
	server := []string{"--data-dir", p.dir, "--nats-listen", "127.0.0.1:0"}
	if p.url != "" {
		server = []string{"--nats-url", p.url}
	}
	args := slices.Concat([]string{"serve", "--http-listen", "127.0.0.1:0", "--log-level", "warn"}, server, flags)
	run := &process{program: p, cmd: exec.Command(p.binary, args...), log: new(bytes.Buffer)}
	out, err := run.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	run.cmd.Stderr = run.log
	if err := run.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(run.stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("serve: %v\n%s", err, run.log)
	}
	run.page = strings.TrimSpace(strings.TrimPrefix(line, "page"))
	run.until("ready", startTime, func() bool {
		reply, err := http.Get(run.page + "readyz")
		if err != nil {
			return false
		}
		reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
	return run
}

// stop ends the process with SIGTERM, if it is running.
func (p *process) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("serve: %v\n%s", err, p.log)
	}
}

// until waits until done returns true, for at most the time within.
func (p *process) until(what string, within time.Duration, done func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), within)
	defer cancel()
	err := testkit.Poll(ctx, func() error {
		if !done() {
			return fmt.Errorf("the process is not %s after %v", what, within)
		}
		return nil
	})
	if err != nil {
		p.t.Fatalf("%v\n%s", err, p.log)
	}
}

// metric returns the value of a metric of /metrics.
func (p *process) metric(name string) float64 {
	p.t.Helper()
	reply, err := http.Get(p.page + "metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer reply.Body.Close()
	lines := bufio.NewScanner(reply.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "streamer_"+name+" "); ok {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				p.t.Fatal(err)
			}
			return n
		}
	}
	p.t.Fatalf("there is no metric %s", name)
	return 0
}

// memory is the memory of a process in bytes, as the kernel counts it, and the CPU
// time that it used.
type memory struct {
	resident, peak uint64
	cpu            time.Duration
}

func (m memory) String() string {
	return fmt.Sprintf("resident %d MB, peak %d MB, %.0f s of CPU time", m.resident/1e6, m.peak/1e6, m.cpu.Seconds())
}

// pid returns the number of the process, which is this one if the program does not run.
func (p *process) pid() int {
	if p.cmd == nil {
		return os.Getpid()
	}
	return p.cmd.Process.Pid
}

// memory returns the memory and CPU time of the process.
func (p *process) memory() memory {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	if err != nil {
		p.t.Fatal(err)
	}
	read := func(name string) uint64 {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
		if found == nil {
			p.t.Fatalf("no %s in %s", name, text)
		}
		n, err := strconv.ParseUint(string(found[1]), 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		return n << 10
	}
	return memory{read("VmRSS"), read("VmHWM"), p.cpu()}
}

// tick is the unit of CPU time in /proc. It is the same on every Linux system.
const tick = 10 * time.Millisecond

// cpu returns the user and system CPU time of the process: fields 14 and 15 of
// /proc/<pid>/stat. Fields are counted after the closing parenthesis of field 2,
// which may contain spaces.
func (p *process) cpu() time.Duration {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
	if err != nil {
		p.t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var sum time.Duration
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			p.t.Fatal(err)
		}
		sum += time.Duration(n) * tick
	}
	return sum
}

// client connects to the server.
func (p *process) client() nats.JetStreamContext {
	p.t.Helper()
	url := []byte(p.url)
	if p.url == "" {
		var err error
		if url, err = os.ReadFile(filepath.Join(p.dir, "nats-url")); err != nil {
			p.t.Fatal(err)
		}
	}
	nc, err := nats.Connect(strings.TrimSpace(string(url)))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(nc.Close)
	js, err := nc.JetStream(nats.PublishAsyncMaxPending(1000))
	if err != nil {
		p.t.Fatal(err)
	}
	return js
}

// input is one message of the input log.
type input struct{ subject, id, body string }

// publish publishes inputs, several hundred at once, and waits until all are
// acknowledged.
func publish(js nats.JetStreamContext, inputs iter.Seq[input]) error {
	var futures []nats.PubAckFuture
	// await waits until at most n publishes are unacknowledged.
	await := func(n int) error {
		for ; len(futures) > n; futures = futures[1:] {
			select {
			case <-futures[0].Ok():
			case err := <-futures[0].Err():
				return err
			}
		}
		return nil
	}
	for in := range inputs {
		f, err := js.PublishAsync(in.subject, []byte(in.body), nats.MsgId(in.id))
		if err != nil {
			return errors.Join(err, await(0))
		}
		futures = append(futures, f)
		if err := await(900); err != nil {
			return err
		}
	}
	return await(0)
}
