//go:build unix

package wrap

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// process is one of the system.
type process struct {
	id, parent int
	started    int64 // tells it from a later one with the same id
}

// tree is a command and what it has started, and that in turn. It is looked at before each
// signal: the children of most agents survive them, some in process groups of their own.
type tree struct {
	root  *os.Process
	known []process
}

func newTree(root *os.Process) *tree {
	t := &tree{root: root}
	for _, p := range processes() {
		if p.id == root.Pid {
			t.known = append(t.known, p)
		}
	}
	return t
}

func (*tree) close() {}

// look adds the processes that the known ones have started, and removes those that ended.
func (t *tree) look() {
	all := processes()
	for i := 0; i < len(t.known); i++ {
		for _, p := range all {
			if p.parent == t.known[i].id && p.started >= t.known[i].started && !t.knows(p) {
				t.known = append(t.known, p)
			}
		}
	}
	t.known = slices.DeleteFunc(t.known, func(p process) bool {
		return !slices.ContainsFunc(all, func(q process) bool { return q.id == p.id && q.started == p.started })
	})
}

func (t *tree) knows(p process) bool {
	return slices.ContainsFunc(t.known, func(q process) bool { return q.id == p.id && q.started == p.started })
}

// Times of end.
const (
	afterInterrupt = 3 * time.Second
	afterTerminate = 2 * time.Second
	treeEvery      = 50 * time.Millisecond
)

// end ends the command by an interrupt, after which most agents clean up, then what is left
// of the tree by a termination and a kill. gone is closed when the command has ended.
func (t *tree) end(gone <-chan struct{}) {
	t.look()
	_ = t.root.Signal(syscall.SIGINT) // it may have ended; so for the others
	if t.await(gone, afterInterrupt) {
		return
	}
	_ = t.root.Signal(syscall.SIGTERM)
	t.signal(syscall.SIGTERM)
	if t.await(gone, afterTerminate) {
		return
	}
	_ = t.root.Kill()
	t.signal(syscall.SIGKILL)
}

func (t *tree) signal(s syscall.Signal) {
	for _, p := range t.known {
		_ = syscall.Kill(p.id, s)
	}
}

// await waits until the tree has ended, for a time, and reports whether it has.
func (t *tree) await(gone <-chan struct{}, most time.Duration) bool {
	for end := time.Now().Add(most); time.Now().Before(end); time.Sleep(treeEvery) {
		t.look()
		select {
		case <-gone:
			if len(t.known) == 0 {
				return true
			}
		default:
		}
	}
	return false
}
