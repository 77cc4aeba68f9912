// Package python_test runs the tests of the Python client, with servers that they kill
// and start again.
package python_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"streamer/test/testkit"
)

// passed matches the end of the output of tests of which none was skipped.
var passed = regexp.MustCompile(`(?m)^Ran [1-9]\d* tests? in \S+\n\nOK\n`)

// TestMain runs all files at once: they wait for processes more than they compute.
func TestMain(m *testing.M) {
	testkit.AtOnce(12)
	os.Exit(m.Run())
}

// TestPythonClient runs each file of tests.
func TestPythonClient(t *testing.T) {
	python := requirePython(t)
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatal("no files of tests", err)
	}
	program := testkit.Program(t)
	for _, file := range files {
		name := filepath.Base(file[:len(file)-len(".py")])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*testkit.Within)
			defer cancel()
			cmd := exec.CommandContext(ctx, python, "-B", "-X", "utf8", "-W", "error", "-m", "unittest", "tests."+name)
			cmd.Env = append(os.Environ(), "STREAMER_PROGRAM="+program)
			out, err := cmd.CombinedOutput()
			if err != nil || !passed.Match(out) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// requirePython returns the path of Python. Without one, it skips the test, or fails it
// if STREAMER_REQUIRE_BROWSER is 1.
func requirePython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	switch {
	case err == nil:
	case os.Getenv("STREAMER_REQUIRE_BROWSER") == "1":
		t.Fatal("no python3 found: install python3")
	default:
		t.Skip("no python3 found: install python3")
	}
	return python
}
