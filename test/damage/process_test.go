package damage

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programEnv names the environment variable with the path of the program, which
// TestMain builds.
const programEnv = "STREAMER_TEST_PROGRAM"

// atOnce is the number of tests that run at once. They wait most of the time.
const atOnce = "8"

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// buildAndRun builds the program, runs the tests and returns the exit status.
func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "streamer-damage-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "streamer")
	if text, err := exec.Command("go", "build", "-o", program, "streamer/cmd/streamer").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, text)
		return 1
	}
	os.Setenv(programEnv, program)
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// Time limits. The tests make no assertion about shorter times.
const (
	startTime = time.Minute      // for a process to listen or end
	stopTime  = 30 * time.Second // for a process to end after a signal
	waitTime  = 90 * time.Second // for the logs to reach the expected state
	// pollInterval is the time between two checks of a condition.
	pollInterval = 100 * time.Millisecond
)

// instance is a `streamer serve` on a data directory.
type instance struct {
	t    *testing.T
	dir  string
	page string // URL of the HTTP API without a final slash; "" if the start was refused
	cmd  *exec.Cmd
	log  output
	gone chan struct{} // closed when the process has ended
}

// launch starts an instance and waits until it listens or has ended.
func launch(t *testing.T, dir string, flags ...string) *instance {
	t.Helper()
	args := append([]string{"serve", "--data-dir", dir, "--nats-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}, flags...)
	in := &instance{t: t, dir: dir, cmd: exec.Command(os.Getenv(programEnv), args...), gone: make(chan struct{})}
	in.cmd.Stderr = &in.log
	out, err := in.cmd.StdoutPipe()
	if err == nil {
		err = in.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.kill)
	page := make(chan string, 1)
	go in.read(out, page)
	select {
	case in.page = <-page:
	case <-in.gone:
	case <-time.After(startTime):
		in.end(syscall.SIGABRT)
		t.Fatalf("the process neither listens nor ends\n%s", in.log.text())
	}
	return in
}

// read sends the URL of the page that the process prints to page, and waits until
// the process ends.
func (in *instance) read(out io.Reader, page chan<- string) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "page "); ok {
			page <- strings.TrimRight(strings.TrimSpace(url), "/")
		}
	}
	_ = in.cmd.Wait() // its status is in ProcessState
	close(in.gone)
}

// runs reports whether the process is running.
func (in *instance) runs() bool {
	select {
	case <-in.gone:
		return false
	default:
		return true
	}
}

// signal sends a signal to the process, if it is running.
func (in *instance) signal(sig syscall.Signal) { _ = in.cmd.Process.Signal(sig) }

// end sends a signal and waits until the process ends. A process that does not
// end in time fails the test, which prints its stacks.
func (in *instance) end(sig syscall.Signal) {
	in.t.Helper()
	in.signal(sig)
	select {
	case <-in.gone:
	case <-time.After(stopTime):
		in.signal(syscall.SIGABRT)
		<-in.gone
		in.t.Errorf("the process still ran %v after %v\n%s", stopTime, sig, in.log.text())
	}
}

// kill ends the process, if it is running.
func (in *instance) kill() {
	if in.runs() {
		in.signal(syscall.SIGKILL)
		<-in.gone
	}
}

// url returns the URL of the embedded server with all permissions.
func (in *instance) url() string {
	in.t.Helper()
	data, err := os.ReadFile(filepath.Join(in.dir, "nats-url"))
	if err != nil {
		in.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// command runs a command of the program on a data directory and returns its exit
// status and output.
func command(t *testing.T, dir, name string, args ...string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, os.Getenv(programEnv), append([]string{name, "--data-dir", dir}, args...)...).CombinedOutput()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		t.Fatalf("streamer %s: %v", name, err)
	} else if err != nil {
		status = exited.ExitCode()
	}
	if ctx.Err() != nil {
		t.Fatalf("streamer %s did not end within %v\n%s", name, waitTime, out)
	}
	return status, string(out)
}

// output collects the output of a process.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// waitFor waits until wrong returns nothing.
func waitFor(t *testing.T, in *instance, what string, wrong func() []string) {
	t.Helper()
	end := time.After(waitTime)
	for {
		list := wrong()
		if len(list) == 0 {
			return
		}
		select {
		case <-end:
			t.Fatalf("%s: after %v, %d conditions are not met:\n%s\n%s", what, waitTime, len(list), strings.Join(list[:min(8, len(list))], "\n"), in.log.text())
		case <-time.After(pollInterval):
		}
	}
}
