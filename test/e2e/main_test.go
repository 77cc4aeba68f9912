package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programEnv is the path of the program that TestMain builds.
const programEnv = "STREAMER_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if settings := os.Getenv(greedyEnv); settings != "" {
		if err := runGreedy(context.Background(), settings); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "streamer-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "streamer")
	if text, err := exec.Command("go", "build", raceFlag, "-o", program, "streamer/cmd/streamer").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, text)
		return 1
	}
	os.Setenv(programEnv, program)
	return m.Run()
}

// execute runs the program to its end and returns its output and exit status.
func execute(t *testing.T, stdin string, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Getenv(programEnv), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("streamer %q: %v", args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}
