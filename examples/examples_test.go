// Package examples_test runs the example clients in the subdirectories against
// a running streamer, as their users do.
package examples_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
)

// programs returns a directory with the commands that the tests run.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "streamer-examples")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator),
		"streamer/examples/repair-go", "streamer/examples/agent-go", "streamer/examples/subscriber")
	build.Stderr = os.Stderr
	return dir, build.Run()
})

func TestMain(m *testing.M) {
	testkit.AtOnce(12) // they wait for processes
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// program returns the path of a command of this module.
func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatalf("building the commands: %v", err)
	}
	return filepath.Join(dir, name)
}

// serve starts streamer with an embedded NATS server, and returns the addresses
// that it prints.
func serve(t *testing.T) (http, url string) {
	t.Helper()
	http, url, _ = serveWith(t, "--data-dir", t.TempDir(), "--nats-listen", "127.0.0.1:0")
	awaitService(t, url)
	return http, url
}

// serveWith starts streamer with flags, and returns the addresses that it prints and a
// function that stops it. It is stopped at the end of the test at the latest.
func serveWith(t *testing.T, flags ...string) (http, url string, stop func()) {
	t.Helper()
	cmd := exec.Command(testkit.Program(t), append([]string{"serve", "--partitions", "1", "--log-level", "error", "--http-listen", "127.0.0.1:0"}, flags...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has ended; Wait returns the reason
		if err := cmd.Wait(); err != nil {
			t.Errorf("streamer serve: %v", err)
		}
	})
	t.Cleanup(stop)
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		switch what, address, _ := strings.Cut(lines.Text(), " "); what {
		case "page":
			http = strings.TrimSuffix(strings.TrimSpace(address), "/")
		case "nats":
			url = strings.TrimSpace(address)
		}
	}
	if http == "" || url == "" {
		t.Fatalf("streamer serve prints no addresses: page %q, nats %q", http, url)
	}
	return http, url, stop
}

// awaitService waits until the repair service on NATS answers.
func awaitService(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for err = nats.ErrNoResponders; errors.Is(err, nats.ErrNoResponders); {
		_, err = nc.Request("$SRV.PING.streamer-repair", nil, 10*time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run runs a command and returns its standard output and standard error.
func run(t *testing.T, cmd *exec.Cmd, input string) (out, errout string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// want reports an error if got differs from want.
func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

const (
	history = `[{"role":"user","content":"<b> \ud83d"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"search","arguments":"{}"}}]},{"role":"user","content":"Never mind."}]` + "\n"
	found   = `{"role":"tool","tool_call_id":"call_1","content":"Tool call search with id call_1 was interrupted: no result was recorded. It may or may not have run."},`
)

// repaired returns the history with its result.
func repaired() string {
	at := strings.Index(history, `{"role":"user","content":"Never`)
	return history[:at] + found + history[at:]
}

// TestRepairGo checks that the Go client, which uses the repair service on NATS,
// prints the same as the command.
func TestRepairGo(t *testing.T) {
	t.Parallel()
	_, url := serve(t)
	out, report := run(t, exec.Command(program(t, "repair-go"), "--nats-url", url), history)
	want(t, "repair-go", out, repaired())
	if !strings.Contains(report, `"op":"result_added"`) {
		t.Errorf("repair-go: the report is %s", report)
	}
	out, _ = run(t, exec.Command(program(t, "repair-go"), "--nats-url", url), out)
	want(t, "repair-go of a repaired history", out, repaired())
	out, _ = run(t, exec.Command(testkit.Program(t), "repair"), history)
	want(t, "streamer repair", out, repaired())

	refused := exec.Command(program(t, "repair-go"), "--nats-url", url)
	refused.Stdin = strings.NewReader("[1]")
	if out, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(out), "422: ") {
		t.Errorf("repair-go of a number: %v: %s", err, out)
	}
}

// TestRepairPython checks that the Python client compiles and passes its own
// tests.
func TestRepairPython(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: repair-python was not run")
	}
	compiled := filepath.Join(t.TempDir(), "repair.pyc")
	run(t, exec.Command(python, "-c", "import py_compile, sys; py_compile.compile('repair-python/repair.py', sys.argv[1], doraise=True)", compiled), "")
	http, _ := serve(t)
	cmd := exec.Command(python, "-B", "repair_test.py")
	cmd.Dir, cmd.Env = "repair-python", append(os.Environ(), "STREAMER_URL="+http)
	if _, errout := run(t, cmd, ""); !strings.Contains(errout, "\nOK") {
		t.Errorf("repair_test.py prints\n%s", errout)
	}
}

// TestRepairLangGraph checks the middleware in agents of the real LangGraph.
func TestRepairLangGraph(t *testing.T) {
	t.Parallel()
	requireNode(t, "langgraph-js")
	http, _ := serve(t)
	cmd := exec.Command("node", "--test", "--test-reporter=tap", "repair.test.js")
	cmd.Dir, cmd.Env = "langgraph-js", append(os.Environ(), "STREAMER_URL="+http)
	if out, _ := run(t, cmd, ""); !regexp.MustCompile(`(?m)^# pass [1-9]`).MatchString(out) || !strings.Contains(out, "\n# skipped 0\n") {
		t.Errorf("repair.test.js prints\n%s", out)
	}
}
