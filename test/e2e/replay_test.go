//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/test/testkit"
)

// recordedLine returns a line of a recorded session.
func recordedLine(at int, kind, data string) string {
	return fmt.Sprintf(`{"at":%d,"kind":%q,"data":%s}`, at, kind, data) + "\n"
}

const replayResult = `{"tool_call_id":"a","content":"found"}`

// TestReplayCommand: the command publishes each line as the input that it states,
// and prints what was rejected, each reason once.
func TestReplayCommand(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	for _, c := range []struct {
		name, in  string
		out, errs string // patterns
		status    int
	}{
		{"deltas", callsOf("m", "a") + "\n", `1 input published to session s\n`, "", 0},
		{"a recorded session", recordedLine(5, "delta", callsOf("m", "b")) + recordedLine(9, "result", replayResult) + recordedLine(9, "progress", `{"tool_call_id":"b","percent":5}`) + recordedLine(20, "interrupt", `{}`), `4 inputs published to session s\n`, "", 0},
		{"nothing", "\n", `0 inputs published to session s\n`, "", 0},
		{"no event", ": keep-alive\n\n", `1 input published to session s\n`, "", 0},
		{
			"faults", strings.Repeat("{\"x\":}\n", 3) + "data: {]\n\n" + recordedLine(0, "interrupt", `{"calls":[]}`) + callsOf("n", "c"), `6 inputs published to session s\n`,
			`streamer replay: 5 of 6 inputs rejected\n` +
				`streamer replay: line 1, offset 5: bad_json: .* \(3 times, last in line 3\)\n` +
				`streamer replay: line 4, offset \d+: bad_json: .*\n` +
				`streamer replay: line 6, offset \d+: \w+: .*\n`, 3,
		},
		{
			"lines of prose", "not json\nthis is garbage\nmore garbage\n", `3 inputs published to session s\n`,
			`streamer replay: 3 of 3 inputs rejected\n` +
				`streamer replay: line 1, offset 1: bad_json: 'o' .*\n` +
				`streamer replay: line 2, offset 1: bad_json: 'h' .*\n` +
				`streamer replay: line 3, offset 0: bad_json: 'm' .*\n`, 3,
		},
		{
			"a line that nothing continues", "not json\n{\"broken\":\nmore garbage\n", `3 inputs published to session s\n`,
			`streamer replay: 3 of 3 inputs rejected\n` +
				`streamer replay: line 1, offset 1: bad_json: 'o' .*\n` +
				`streamer replay: line 2, offset 10: bad_json: the JSON text ends before it is complete\n` +
				`streamer replay: line 3, offset 0: bad_json: 'm' .*\n`, 3,
		},
		{
			"a cut end", callsOf("p", "d") + "\n{\n  \"a\":\n", `3 inputs published to session s\n`,
			`streamer replay: 1 of 3 inputs rejected\nstreamer replay: line 2, offset \d+: bad_json: the JSON text ends before it is complete\n`, 3,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, errs, status := execute(t, c.in, "replay", "--data-dir", d.dir, "--session", "s", "-")
			if !regexp.MustCompile("^"+c.out+"$").MatchString(out) || !regexp.MustCompile("^"+c.errs+"$").MatchString(errs) || status != c.status {
				t.Errorf("%s: exit status %d\n%s%swant %d\n%s%s", c.name, status, out, errs, c.status, c.out, c.errs)
			}
		})
	}
	for _, e := range d.events() {
		if e.Type == events.ToolCallResult && e.ID == "a" && e.Status != events.Completed {
			t.Errorf("call a ended %s, want %s", e.Status, events.Completed)
		}
		if e.Type == events.ToolCallResult && e.ID == "b" && e.Status != events.Cancelled {
			t.Errorf("call b ended %s, want %s", e.Status, events.Cancelled)
		}
	}
}

// TestReplayUnread: without a worker the command states that the inputs are stored,
// and does not wait longer than requested.
func TestReplayUnread(t *testing.T) {
	t.Parallel()
	_, url := workerless(t, broker.Options{})
	for _, c := range []struct{ wait, errs string }{
		{"300ms", "streamer replay: the inputs are stored, but not all were folded, and no event came for 300ms: is a streamer running on these logs? Whether the last inputs were rejected is not known\n"},
		{"0", ""},
	} {
		t.Run(c.wait, func(t *testing.T) {
			out, errs, status := execute(t, callsOf("m", "a"), "replay", "--nats-url", url, "--session", "s", "--wait", c.wait, "-")
			if out != "1 input published to session s\n" || errs != c.errs || status != 0 {
				t.Errorf("--wait %s: exit status %d\n%s%s", c.wait, status, out, errs)
			}
		})
	}
}

// running is the command replay while it runs.
type running struct {
	t         *testing.T
	cmd       *exec.Cmd
	in        io.WriteCloser
	out, errs bytes.Buffer
}

// replay starts the command.
func (d served) replay(args ...string) *running {
	d.t.Helper()
	r := &running{t: d.t, cmd: exec.CommandContext(d.t.Context(), testkit.RaceProgram(d.t), append([]string{"replay", "--data-dir", d.dir, "--session", "s"}, args...)...)}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.errs
	in, err := r.cmd.StdinPipe()
	if err == nil {
		r.in, err = in, r.cmd.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// write writes to the standard input of the command.
func (r *running) write(text string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, text); err != nil {
		r.t.Fatal(err)
	}
}

// ends checks the output and the exit status at the end of the command.
func (r *running) ends(out, errs string, status int) {
	r.t.Helper()
	_ = r.cmd.Wait() // the exit status is checked
	if got := r.cmd.ProcessState.ExitCode(); r.out.String() != out || r.errs.String() != errs || got != status {
		r.t.Errorf("exit status %d\n%s%swant %d\n%s%s", got, &r.out, &r.errs, status, out, errs)
	}
}

// TestReplayPipe: what a program prints is published as it comes, a line of JSON or
// an SSE event at a time, and lines that are neither do not hold it up.
func TestReplayPipe(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	r := d.replay("-")
	r.write(callsOf("m", "a") + "\n")
	d.until(events.ToolCallStart, 1)
	r.write("data: " + callsOf("n", "b") + "\n\n")
	d.until(events.ToolCallStart, 2)
	r.write("event: message\n")
	r.write("data: " + callsOf("o", "c")[:40])
	r.write(callsOf("o", "c")[40:] + "\n")
	r.write("\n")
	d.until(events.ToolCallStart, 3)
	r.write(recordedLine(0, "result", replayResult))
	d.until(events.ToolCallResult, 1)
	r.in.Close()
	r.ends("4 inputs published to session s\n", "", 0)
}

// TestReplayStopped: an interrupt ends the reading of a pipe that stays open, and
// the outcome of what was published is still awaited.
func TestReplayStopped(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	r := d.replay("-")
	r.write("{]\n")
	d.until(events.Rejected, 1)
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait() // the exit status is checked
	if got := r.cmd.ProcessState.ExitCode(); got != 3 || r.out.String() != "1 input published to session s\n" || !strings.Contains(r.errs.String(), "1 of 1 inputs rejected\n") {
		t.Errorf("exit status %d\n%s%swant 3", got, &r.out, &r.errs)
	}
}

// TestReplayFollow: what is added to a file is published until the command is
// interrupted. A file that another one replaces is read from its beginning.
func TestReplayFollow(t *testing.T) {
	t.Parallel()
	d := openServer(t)
	name := filepath.Join(t.TempDir(), "agent.log")
	put := func(text string, flag int) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|flag, 0o600)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put(callsOf("m", "a")+"\n", os.O_CREATE)
	r := d.replay("--follow", name)
	d.until(events.ToolCallStart, 1)
	half := len(callsOf("n", "b")) / 2
	put(callsOf("n", "b")[:half], os.O_APPEND)
	put(callsOf("n", "b")[half:]+"\n", os.O_APPEND)
	d.until(events.ToolCallStart, 2)
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	put(callsOf("o", "c")+"\n", os.O_CREATE)
	d.until(events.ToolCallStart, 3)
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	r.ends("3 inputs published to session s\n", "", 0)
}
