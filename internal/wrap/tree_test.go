//go:build linux || darwin

package wrap

import (
	"bufio"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"streamer/test/testkit"
)

// TestTree: what a command started is ended with it: also what ignores an interrupt or a
// termination, and what has a session of its own.
func TestTree(t *testing.T) {
	const script = `
		sleep 600 & echo $!
		sh -c 'trap "" INT TERM; echo $$; while :; do sleep 600; done' &
		python3 -c 'import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(600)' &
		wait`
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("without python3")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ids := []int{cmd.Process.Pid}
	for lines := bufio.NewScanner(out); len(ids) < 4; {
		if !lines.Scan() {
			t.Fatalf("the command started %v", ids)
		}
		id, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	gone := make(chan struct{})
	go func() { defer close(gone); _, _ = cmd.Process.Wait() }()
	tr := newTree(cmd.Process)
	tr.end(gone)
	<-gone
	testkit.UntilTrue(t, "the end of all", func() bool { // a killed process may be listed for a moment
		return !slices.ContainsFunc(processes(), func(p process) bool { return slices.Contains(ids, p.id) })
	})
}
