package testkit

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopTime is how long a process may take to end after a signal.
const stopTime = time.Minute

// Process is a program that runs until it is ended, or the test ends.
type Process struct {
	Log  Tail // what the program writes
	t    testing.TB
	cmd  *exec.Cmd
	page chan string   // gets the address that `streamer serve` prints
	gone chan struct{} // closed when the program has ended
}

// Start starts the program streamer with arguments.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	return StartCommand(t, exec.Command(Program(t), args...))
}

// StartCommand starts a command whose output is not set.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, cmd: cmd, page: make(chan string, 1), gone: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &pageWriter{p: p}, &p.Log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // its status is in ProcessState
		close(p.gone)
	}()
	t.Cleanup(p.Kill)
	return p
}

// Page waits for the address of the HTTP API that `streamer serve` prints, and returns it
// without a final slash. It returns "" if the process ends first.
func (p *Process) Page() string {
	p.t.Helper()
	select {
	case page := <-p.page:
		p.page <- page
		return page
	case <-p.gone:
		return ""
	case <-time.After(Within):
		p.End(syscall.SIGABRT)
		p.t.Fatalf("the process neither listens nor ends\n%s", p.Log.String())
		return ""
	}
}

// Running reports whether the process runs.
func (p *Process) Running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Signal sends a signal to the process, if it is running.
func (p *Process) Signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// Kill ends the process with SIGKILL, if it is running.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// End sends a signal and waits until the process ends. A process that does not end in
// time fails the test, which prints its stacks.
func (p *Process) End(sig os.Signal) {
	p.t.Helper()
	p.Signal(sig)
	select {
	case <-p.gone:
	case <-time.After(stopTime):
		p.Signal(syscall.SIGABRT)
		<-p.gone
		p.t.Errorf("the process still ran %v after %v\n%s", stopTime, sig, p.Log.String())
	}
}

// ExitCode returns the exit status of a process that has ended.
func (p *Process) ExitCode() int { return p.cmd.ProcessState.ExitCode() }

// pageWriter writes to the log of a process, and finds the address that it prints.
type pageWriter struct {
	p    *Process
	line []byte // the last line, as far as it is written
	seen bool
}

func (w *pageWriter) Write(b []byte) (int, error) {
	if w.line = append(w.line, b...); !w.seen {
		for line := range bytes.Lines(w.line) {
			if url, ok := strings.CutPrefix(string(line), "page "); ok && strings.HasSuffix(url, "\n") {
				w.seen = true
				w.p.page <- strings.TrimRight(strings.TrimSpace(url), "/")
				break
			}
		}
	}
	w.line = w.line[bytes.LastIndexByte(w.line, '\n')+1:]
	return w.p.Log.Write(b)
}
