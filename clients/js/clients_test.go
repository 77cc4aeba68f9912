// Package js tests the client in JavaScript against the program streamer. The tests are
// programs of node, in the directory test. Those of frameworks need their packages, which
// `npm ci --ignore-scripts` installs there.
package js

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// TestMain runs all programs at once: they wait for processes more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestClientJS runs the tests in node.
func TestClientJS(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		absent(t, "no node found: install nodejs")
	}
	run(t, "test/*.test.mjs")
}

// TestAdaptersJS runs the tests of the adapters, with the frameworks.
func TestAdaptersJS(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		absent(t, "no node found: install nodejs")
	}
	if _, err := os.Stat("test/node_modules"); err != nil {
		absent(t, "no frameworks found: run npm ci --ignore-scripts in clients/js/test")
	}
	run(t, "test/adapters/*.test.mjs")
}

// run runs the programs that match a pattern, each as a subtest.
func run(t *testing.T, pattern string) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests found: %s: %v", pattern, err)
	}
	program := testkit.Program(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".test.mjs"), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Within)
			defer cancel()
			cmd := exec.CommandContext(ctx, "node", "--test", file)
			cmd.Env = append(os.Environ(), "STREAMER_PROGRAM="+program)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("node --test %s: %v\n%s", file, err, out)
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
