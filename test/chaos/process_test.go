package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that is killed, paused and started again. The holder of
// busy injects a fault into it.
type process struct {
	t    *testing.T
	name string
	log  string          // file, to which every run of the program appends
	args func() []string // returns the arguments of the next run; the program is the first
	env  []string

	busy   sync.Mutex // held during a fault
	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	want   bool          // the process should be running
	exits  []string      // unexpected exits
}

// start starts the next run of the program.
func (p *process) start() {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer log.Close()
	args := p.args()
	fmt.Fprintf(log, "--- %s %q\n", time.Now().Format(time.StampMilli), args[1:])
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited, p.want = cmd, exited, true
	p.mu.Unlock()
	go p.wait(cmd, exited)
}

// wait waits until cmd ends, and records an unexpected exit. A nats-server that panics while
// it reads a damaged stream is no fault of streamer: the others go on without it.
func (p *process) wait(cmd *exec.Cmd, exited chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	if p.want && p.cmd == cmd && !strings.Contains(p.lastLines(60), "nats-server/v2/server.(*Account).EnableJetStream.func") {
		p.exits = append(p.exits, fmt.Sprintf("%s exited unexpectedly: %v; the end of its log:\n%s", p.name, err, p.lastLines(10)))
	}
	p.mu.Unlock()
	close(exited)
}

// lastLines returns the last n lines of the log.
func (p *process) lastLines(n int) string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// end sends a signal and waits until the process ends. A process that does not end
// in time fails the test.
func (p *process) end(sig syscall.Signal) {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.want = false
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // fails if the process has ended
	select {
	case <-exited:
	case <-time.After(30 * time.Second):
		p.t.Errorf("%s still runs half a minute after %v", p.name, sig)
		_ = cmd.Process.Signal(syscall.SIGABRT) // the process writes its stacks to its log
		<-exited
	}
}

// signal sends a signal to the process, if it is running.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig) // fails if the process has ended
	}
}

// unexpectedExits returns the unexpected exits of the process.
func (p *process) unexpectedExits() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// programs are the paths of the programs that the test runs.
type programs struct{ server, streamer string }

// build builds the programs from this module, with packages of the standard library, and
// others of the server alone.
func build(t *testing.T, both, server []patched) programs {
	dir := t.TempDir()
	b := programs{filepath.Join(dir, "nats-server"), filepath.Join(dir, "streamer")}
	for _, p := range []struct {
		out, pkg string
		patches  []patched
	}{
		{b.server, "github.com/nats-io/nats-server/v2", append(server, both...)},
		{b.streamer, "streamer/cmd/streamer", both},
	} {
		args := []string{"build", "-o", p.out, p.pkg}
		if len(p.patches) > 0 {
			args = slices.Insert(args, 1, "-overlay", overlay(t, p.patches...))
		}
		if text, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", p.pkg, err, text)
		}
	}
	return b
}
