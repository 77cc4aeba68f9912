package damage

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// partitions is less than the default: a process that carries few starts sooner.
const partitions = "4"

func TestMain(m *testing.M) {
	testkit.AtOnce(8) // they wait most of the time
	os.Exit(m.Run())
}

// instance is a `streamer serve` on a data directory.
type instance struct {
	*testkit.Process
	t    *testing.T
	dir  string
	page string // URL of the HTTP API without a final slash; "" if the start was refused
}

// launch starts an instance and waits until it listens or has ended.
func launch(t *testing.T, dir string, flags ...string) *instance {
	t.Helper()
	args := append([]string{"serve", "--data-dir", dir, "--nats-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--partitions", partitions}, flags...)
	in := &instance{Process: testkit.Start(t, args...), t: t, dir: dir}
	in.page = in.Page()
	return in
}

// url returns the URL of the embedded server with all permissions.
func (in *instance) url() string {
	in.t.Helper()
	data, err := os.ReadFile(filepath.Join(in.dir, "nats-url"))
	if err != nil {
		in.t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// command runs a command of the program on a data directory and returns its exit
// status and output.
func command(t *testing.T, dir, name string, args ...string) (status int, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Within)
	defer cancel()
	out, err := exec.CommandContext(ctx, testkit.Program(t), append([]string{name, "--data-dir", dir}, args...)...).CombinedOutput()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		t.Fatalf("streamer %s: %v", name, err)
	} else if err != nil {
		status = exited.ExitCode()
	}
	if ctx.Err() != nil {
		t.Fatalf("streamer %s did not end within %v\n%s", name, testkit.Within, out)
	}
	return status, string(out)
}

// until waits until wrong returns nothing.
func (in *instance) until(what string, wrong func() []string) {
	in.t.Helper()
	testkit.Until(in.t, what, func() error { return testkit.Check(wrong(), nil) }, &in.Log)
}
