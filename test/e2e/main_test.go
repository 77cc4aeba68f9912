package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"streamer/test/testkit"
)

func TestMain(m *testing.M) {
	if settings := os.Getenv(greedyEnv); settings != "" {
		if err := runGreedy(context.Background(), settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testkit.AtOnce(4) // they wait for processes and pages
	os.Exit(m.Run())
}

// start runs the program until it is ended, or the test ends.
func start(t *testing.T, args ...string) *testkit.Process {
	t.Helper()
	return testkit.StartCommand(t, exec.Command(testkit.RaceProgram(t), args...))
}

// execute runs the program to its end and returns its output and exit status.
func execute(t *testing.T, stdin string, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), testkit.RaceProgram(t), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("streamer %q: %v", args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
