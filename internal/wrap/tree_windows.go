package wrap

import (
	"os"

	"golang.org/x/sys/windows"
)

// tree is a command and what it has started, as a job.
type tree struct {
	root *os.Process
	job  windows.Handle // 0 if the system gave none
}

func newTree(root *os.Process) *tree {
	t := &tree{root: root}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return t
	}
	err = root.WithHandle(func(handle uintptr) {
		if windows.AssignProcessToJobObject(job, windows.Handle(handle)) == nil {
			t.job = job
		}
	})
	if err != nil || t.job == 0 {
		_ = windows.CloseHandle(job)
	}
	return t
}

func (t *tree) close() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}

// end ends the job: no signal that it could clean up after reaches a process here.
func (t *tree) end(<-chan struct{}) {
	if t.job == 0 || windows.TerminateJobObject(t.job, 1) != nil {
		_ = t.root.Kill() // it may have ended
	}
}
