package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that is killed, frozen and started again. One at a time
// may disturb it.
type process struct {
	t    *testing.T
	name string
	log  string          // file; all lives write to it
	args func() []string // of the next life, program first
	env  []string

	busy sync.Mutex // held while it is disturbed
	mu   sync.Mutex
	cmd  *exec.Cmd
	gone chan struct{} // closed when cmd has ended
	want bool          // it is to run
	fell []string      // unexpected ends
}

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
	gone := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.gone, p.want = cmd, gone, true
	p.mu.Unlock()
	go p.wait(cmd, gone)
}

// wait records an unexpected end.
func (p *process) wait(cmd *exec.Cmd, gone chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	if p.want && p.cmd == cmd {
		p.fell = append(p.fell, fmt.Sprintf("%s ended by itself: %v", p.name, err))
	}
	p.mu.Unlock()
	close(gone)
}

// end ends a life by a signal, and waits. A program that does not heed
// SIGTERM for long is a fault.
func (p *process) end(sig syscall.Signal) {
	p.mu.Lock()
	cmd, gone := p.cmd, p.gone
	p.want = false
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		p.t.Errorf("%s still runs half a minute after %v", p.name, sig)
		_ = cmd.Process.Signal(syscall.SIGABRT) // its stacks go into its log
		<-gone
	}
}

func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig) // likewise
	}
}

// falls returns the unexpected ends.
func (p *process) falls() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fell
}

// programs are what the test runs, built from this module.
type programs struct{ server, streamer string }

func build(t *testing.T, overlay string) programs {
	dir := t.TempDir()
	b := programs{filepath.Join(dir, "nats-server"), filepath.Join(dir, "streamer")}
	for out, pkg := range map[string]string{
		b.server:   "github.com/nats-io/nats-server/v2",
		b.streamer: "streamer/cmd/streamer",
	} {
		args := []string{"build", "-o", out}
		if overlay != "" {
			args = append(args, "-overlay", overlay)
		}
		if text, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", pkg, err, text)
		}
	}
	return b
}
