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
	"sync"
	"testing"

	"streamer/internal/app"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
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

// config returns the configuration of a server on a data directory and free
// ports, with one partition. The result timeout of tools named slow_* is 1 s.
func config(dir string) app.Config {
	c := app.NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.Broker.Partitions = dir, "127.0.0.1:0", 1
	c.HTTPListen = "127.0.0.1:0"
	c.Rules.Base.Tools = []lifecycle.ToolRule{{Pattern: "slow_*", ResultTimeout: 1000}}
	return c
}

// serve runs a server in this process until the test ends or stop is called. It
// returns when the server accepts inputs.
func serve(t *testing.T, c app.Config) (s *app.Server, stop func()) {
	t.Helper()
	s, err := app.Open(t.Context(), c, zerolog.New(t.Output()).Level(zerolog.ErrorLevel))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error("serve: ", err)
		}
		s.Close()
	})
	t.Cleanup(stop)
	<-s.Opened()
	return s, stop
}
