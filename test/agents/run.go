package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A run is one program that plays one script.
type run struct {
	program *program
	script  script
	model   *model
	group   string // directory in which the program is installed
	node    string // directory of the pinned Node, first in PATH
	home    string
	work    string // its working directory

	thread, turn string // of Codex, which names them in its answers

	mu     sync.Mutex
	output bytes.Buffer // whole lines, of both sides if the program has both
}

// A command is how a program is started.
type command struct {
	args  []string
	env   []string          // NAME=VALUE
	files map[string]string // in the home directory, before the start
}

const prompt = "Please do the steps."

// limit is the time that a program has for a script.
const limit = 3 * time.Minute

// newRun makes the directories and the model of a run.
func newRun(p *program, s script, group string, c cache) (*run, error) {
	dir, err := os.MkdirTemp(c.dir, "run-") // some programs refuse to work below /tmp
	if err != nil {
		return nil, err
	}
	r := &run{program: p, script: s, group: group, node: c.node(), home: filepath.Join(dir, "home"), work: filepath.Join(dir, "work")}
	for _, d := range []string{r.home, r.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, err
		}
	}
	r.model = newModel(s, p.tool(r))
	return r, os.WriteFile(filepath.Join(r.work, "mark"), []byte(markScript), 0o600)
}

func (r *run) close() {
	r.model.CloseClientConnections()
	r.model.Close()
	_ = os.RemoveAll(filepath.Dir(r.home)) // a temporary directory
}

// markScript is the tool of terminal agents. Like those of the libraries it records in
// the file "ran" when it begins, returns and fails.
const markScript = `cd "$(dirname "$0")"; echo "begin $1" >>ran
case $2 in
throw) echo "throw $1" >>ran; echo "failed $1" >&2; exit 3 ;;
slow) echo half; sleep 1 ;;
stay) sleep 60 ;;
esac
echo "end $1" >>ran; echo "did $1"
`

// record returns what was recorded so far.
func (r *run) record() *record {
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	rec := r.model.record
	rec.Tool = r.marks()
	return &rec
}

// marks returns what the tool recorded.
func (r *run) marks() string {
	b, _ := os.ReadFile(filepath.Join(r.work, "ran")) // absent until the tool runs
	return string(b)
}

// play runs the program and returns what it printed.
func (r *run) play(ctx context.Context) (stdout []byte, err error) {
	c := r.program.start(r)
	for name, text := range c.files {
		file := filepath.Join(r.home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir = r.work
	cmd.Env = append([]string{
		"PATH=" + r.node + ":" + os.Getenv("PATH"), "HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home + "/.config", "XDG_DATA_HOME=" + r.home + "/.local/share",
		"XDG_CACHE_HOME=" + r.home + "/.cache", "XDG_STATE_HOME=" + r.home + "/.local/state", "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8",
		"SCRIPT=" + r.script.name, "BASE=" + r.model.URL, "PERSON=" + r.script.person, "RAN=" + r.work + "/ran",
	}, c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.interrupt(ctx, cmd.Process, in)
	}()
	r.talk(in, out)
	cancelled := ctx.Err() != nil
	cancel()
	<-stopped
	_ = cmd.Wait() // its exit status is not a part of a format
	stdout = r.output.Bytes()
	switch {
	case cancelled:
		err = fmt.Errorf("no end within %s", limit)
	case len(stdout) == 0:
		err = fmt.Errorf("no output: %s", last(stderr.Bytes(), 300))
	}
	if len(bytes.TrimSpace(stderr.Bytes())) > 0 && verbose {
		fmt.Fprintf(os.Stderr, "%s %s: %s\n", r.program.name, r.script.name, stderr.Bytes())
	}
	return stdout, err
}

// say writes a message to the program.
func (r *run) say(in io.Writer, v any) {
	b := append(encode(v), '\n')
	if r.program.both {
		r.print(b)
	}
	_, _ = in.Write(b) // a program that has ended reads nothing
}

func (r *run) print(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output.Write(line)
}

// talk reads the output to its end, and writes what the program is answered.
func (r *run) talk(in io.WriteCloser, out io.Reader) {
	reply := func(line []byte) {
		if r.program.talk == nil {
			return
		}
		list, done := r.program.talk(r, line)
		for _, v := range list {
			r.say(in, v)
		}
		if done {
			_ = in.Close()
		}
	}
	if r.program.talk == nil {
		_ = in.Close()
	}
	reply(nil)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		r.print(line)
		if err != nil {
			return
		}
		reply(line)
	}
}

// interrupt interrupts the program when its tool runs, if the script wants it.
func (r *run) interrupt(ctx context.Context, p *os.Process, in io.Writer) {
	if !r.script.stop {
		return
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(r.marks(), "begin A") {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	for range 30 { // until the program prints that the call runs
		<-tick.C
	}
	if r.program.stop != nil {
		r.say(in, r.program.stop(r))
		return
	}
	_ = p.Signal(os.Interrupt)
}

// read returns an output of a run: what it printed, or the files that match a pattern
// below the home directory.
func (r *run) read(o output, stdout []byte) ([]byte, error) {
	if o.files == "" {
		return stdout, nil
	}
	var all []byte
	names, err := filepath.Glob(filepath.Join(r.home, o.files))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("no file %s", o.files)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, err
}
