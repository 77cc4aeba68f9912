//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// execute runs the program with arguments, and returns what it printed and its
// exit status.
func execute(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=command")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatalf("streamer %q: %v", args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// callsOf is a delta of a message with open calls of the given ids.
func callsOf(message string, ids ...string) string {
	var calls []string
	for i, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"index":%d,"id":%q,"function":{"name":"f","arguments":"{}"}}`, i, id))
	}
	return fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, message, strings.Join(calls, ","))
}

// TestInterruptCommand: the command says what it closed and what was not open,
// and its exit status is 3 where a call that was named was not.
func TestInterruptCommand(t *testing.T) {
	d := openDoors(t)
	put := func(kind, body string) {
		t.Helper()
		if status, answer := d.post("v1/sessions/s/"+kind, body); status != 202 {
			t.Fatalf("%s %s: %d %s", kind, body, status, answer)
		}
	}
	const closed = `closed call \d+\.%d of f, id %s\n`
	put("deltas", callsOf("m1", "a", "b", "c", "d"))
	d.until(events.ToolCallStart, 4)
	for _, c := range []struct {
		args      string
		out, errs string // patterns
		status    int
	}{
		{"--call x", "", `streamer interrupt: session s has no open call x\n`, 3},
		{"--call 9999.9 --call x", "", `streamer interrupt: session s has no open call 9999\.9\n.*no open call x\n`, 3},
		{"--call a --reason user", fmt.Sprintf(closed, 0, "a"), "", 0},
		{"--call a --call " + d.own("b"), fmt.Sprintf(closed, 1, "b"), `streamer interrupt: session s has no open call a\n`, 3},
		{"--call c --call c", fmt.Sprintf(closed, 2, "c"), "", 0},
		{"--wait 0 --call x", `interrupt published to session s as input \d+\n`, "", 0},
		{"", fmt.Sprintf(closed, 3, "d") + `ended run \d+\.\d+\n`, "", 0},
		{"", `nothing is open in session s\n`, "", 0},
		{"--call a", "", `streamer interrupt: session s has no open call a\n`, 3},
	} {
		out, errs, status := execute(t, append([]string{"interrupt", "--data-dir", d.dir, "s"}, strings.Fields(c.args)...)...)
		if !regexp.MustCompile("^"+c.out+"$").MatchString(out) || !regexp.MustCompile("^"+c.errs+"$").MatchString(errs) || status != c.status {
			t.Errorf("interrupt %s: exit status %d\n%s%swant %d\n%s%s", c.args, status, out, errs, c.status, c.out, c.errs)
		}
	}

	// A run that is over has left a call open: its end is no run's.
	put("deltas", callsOf("m2", "e"))
	put("end", "")
	d.until(events.RunFinished, 2)
	out, errs, status := execute(t, "interrupt", "--data-dir", d.dir, "s")
	if !regexp.MustCompile("^"+fmt.Sprintf(closed, 0, "e")+"$").MatchString(out) || errs != "" || status != 0 {
		t.Errorf("interrupt of what a run left open: exit status %d\n%s%s", status, out, errs)
	}
	if out, errs, status := execute(t, "interrupt", "--data-dir", d.dir, "never seen"); out != "nothing is open in session never seen\n" || errs != "" || status != 0 {
		t.Errorf("interrupt of a session without events: exit status %d\n%s%s", status, out, errs)
	}
	if _, errs, status := execute(t, "interrupt", "--data-dir", d.dir, "s", "--call", ""); status != exitUsage || !strings.Contains(errs, "tool_call_ids[0] is empty") {
		t.Errorf("interrupt --call \"\": exit status %d\n%s", status, errs)
	}
}

// TestInterruptUnread: where no worker reads the interrupt, the command says so
// after a bounded time.
func TestInterruptUnread(t *testing.T) {
	_, url := server(t, broker.Options{})
	out, errs, status := execute(t, "interrupt", "--nats-url", url, "s", "--wait", "300ms")
	if out != "" || status != exitFailed || !strings.Contains(errs, "the interrupt is stored as input 1, and what it closed was not known after 300ms") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
}

// events returns the events of session s.
func (d doors) events() (list []events.Event) {
	d.t.Helper()
	err := d.b.Events(d.t.Context(), "s", 0, func(s broker.Stored) error {
		var e events.Event
		if s.Type == events.Synthetic {
			return nil
		}
		list = append(list, e)
		return json.Unmarshal(s.Data, &list[len(list)-1])
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// TestWrongInterrupts: on NATS a body that names nothing it could close is
// rejected, over HTTP refused with the same text, and closes nothing.
func TestWrongInterrupts(t *testing.T) {
	d := openDoors(t)
	if status, answer := d.post("v1/sessions/s/deltas", callsOf("m", "call_1", "call_2")); status != 202 {
		t.Fatalf("deltas: %d %s", status, answer)
	}
	d.until(events.ToolCallStart, 2)
	wrong := []string{
		`{"calls":[]}`, `{"calls":null}`, `{"tool_call_ids":[]}`, `{"run":null}`, `{"run_id":"x"}`, `{"Calls":["x"]}`, `{"message_id":""}`,
		`{"calls":["1.0"],"calls":["1.0"]}`,
	}
	for i, body := range wrong {
		if a := d.b.PublishWait(t.Context(), d.b.InputPub("s", "interrupt", fmt.Sprint("wrong-", i), nil, []byte(body))); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	d.until(events.Rejected, len(wrong))
	i := 0
	for _, e := range d.events() {
		switch e.Type {
		case events.Rejected:
			status, answer := d.post("v1/sessions/s/interrupt", wrong[i])
			text, _ := json.Marshal(e.Reason.Text)
			if e.Reason.Code != events.BadShape || status != 400 || !strings.Contains(answer, string(text)) {
				t.Errorf("%s: rejected as %s with %s, refused with %d %s", wrong[i], e.Reason.Code, text, status, answer)
			}
			i++
		case events.ToolCallResult, events.RunFinished:
			t.Errorf("closed by a wrong interrupt: %s %s", e.Type, e.Call)
		}
	}
	// What means one call closes it, and no other.
	for n, c := range []struct{ body, id string }{{`{"tool_call_id":"call_1"}`, "call_1"}, {`{"call":"` + d.own("call_2") + `"}`, "call_2"}} {
		if status, answer := d.post("v1/sessions/s/interrupt", c.body); status != 202 {
			t.Fatalf("%s: %d %s", c.body, status, answer)
		}
		d.until(events.ToolCallResult, n+1)
		var ended []string
		for _, e := range d.events() {
			if e.Type == events.ToolCallResult {
				ended = append(ended, e.ID)
			}
		}
		if len(ended) != n+1 || ended[n] != c.id {
			t.Errorf("%s: closed are %v, want the last to be %s", c.body, ended, c.id)
		}
	}
}

// own returns the own name of the call that started with an id.
func (d doors) own(id string) string {
	for _, e := range d.events() {
		if e.Type == events.ToolCallStart && e.ID == id {
			return e.Call
		}
	}
	d.t.Fatalf("no call of id %s has started", id)
	return ""
}
