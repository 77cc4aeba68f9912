// Package js tests the client in JavaScript against the program streamer. The tests are
// programs of node, in the directory test. Those of frameworks need their packages, which
// `npm ci --ignore-scripts` installs there.
package js

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// TestMain runs all programs at once: they wait for processes more than they compute.
func TestMain(m *testing.M) {
	testkit.AtOnce(12)
	os.Exit(m.Run())
}

// TestClientJS runs the programs in node. They share a server, and kill others.
func TestClientJS(t *testing.T) {
	requireNode(t)
	nats := testkit.FreePort(t)
	server := testkit.Start(t, "serve", "--data-dir", t.TempDir(), "--http-listen", "127.0.0.1:0", "--nats-listen", nats)
	env := []string{"STREAMER_PROGRAM=" + testkit.Program(t), "TEST_URL=" + server.Page(), "TEST_NATS=" + nats}
	t.Run("programs", func(t *testing.T) { // ends when all have ended
		run(t, "test/*.test.mjs", env...)
		t.Run("adapters", func(t *testing.T) {
			t.Parallel()
			requireFrameworks(t)
			run(t, "test/adapters/*.test.mjs", env...)
		})
	})
}

// TestTypesJS compiles a program that uses the types with those of the frameworks.
func TestTypesJS(t *testing.T) {
	testkit.Campaign(t)
	requireFrameworks(t)
	run(t, "test/adapters/types/*.test.mjs")
}

func requireNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		absent(t, "no node found: install nodejs")
	}
}

func requireFrameworks(t *testing.T) {
	t.Helper()
	requireNode(t)
	if _, err := os.Stat("test/node_modules"); err != nil {
		absent(t, "no frameworks found: run npm ci --ignore-scripts in clients/js/test")
	}
}

// run runs the programs that match a pattern, each as a parallel subtest.
func run(t *testing.T, pattern string, env ...string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests found: %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".test.mjs"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Within)
			defer cancel()
			cmd := exec.CommandContext(ctx, "node", file)
			// The adapters find their frameworks as in a project that has installed the package.
			cmd.Env = append(append(os.Environ(), "NODE_OPTIONS=--preserve-symlinks"), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("node %s: %v\n%s", file, err, out)
			}
		})
	}
}

// absent skips the test, or fails it if STREAMER_REQUIRE_BROWSER is 1.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("STREAMER_REQUIRE_BROWSER") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}
