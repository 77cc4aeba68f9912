//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// callsOf returns a delta of a message with open calls.
func callsOf(message string, ids ...string) string {
	var calls []string
	for i, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"index":%d,"id":%q,"function":{"name":"f","arguments":"{}"}}`, i, id))
	}
	return fmt.Sprintf(`{"id":%q,"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}`, message, strings.Join(calls, ","))
}

// TestInterruptCommand: the command prints what it closed and what was not open.
// Its exit status is 3 if a named call was not open.
func TestInterruptCommand(t *testing.T) {
	t.Parallel()
	d := openServer(t)
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
		t.Run(c.args+" "+c.out, func(t *testing.T) {
			out, errs, status := execute(t, "", append([]string{"interrupt", "--data-dir", d.dir, "s"}, strings.Fields(c.args)...)...)
			if !regexp.MustCompile("^"+c.out+"$").MatchString(out) || !regexp.MustCompile("^"+c.errs+"$").MatchString(errs) || status != c.status {
				t.Errorf("interrupt %s: exit status %d\n%s%swant %d\n%s%s", c.args, status, out, errs, c.status, c.out, c.errs)
			}
		})
	}

	// The run of this call has ended before the interrupt.
	put("deltas", callsOf("m2", "e"))
	put("end", "")
	d.until(events.RunFinished, 2)
	out, errs, status := execute(t, "", "interrupt", "--data-dir", d.dir, "s")
	if !regexp.MustCompile("^"+fmt.Sprintf(closed, 0, "e")+"$").MatchString(out) || errs != "" || status != 0 {
		t.Errorf("interrupt of what a run left open: exit status %d\n%s%s", status, out, errs)
	}
	if out, errs, status := execute(t, "", "interrupt", "--data-dir", d.dir, "never seen"); out != "nothing is open in session never seen\nit had no event before: is its name right?\n" || errs != "" || status != 0 {
		t.Errorf("interrupt of a session without events: exit status %d\n%s%s", status, out, errs)
	}
	if _, errs, status := execute(t, "", "interrupt", "--data-dir", d.dir, "s", "--call", ""); status != 2 || !strings.Contains(errs, "tool_call_ids[0] is empty") {
		t.Errorf("interrupt --call \"\": exit status %d\n%s", status, errs)
	}
}

// TestInterruptUnread: without a worker the command fails after a bounded time.
func TestInterruptUnread(t *testing.T) {
	t.Parallel()
	_, url := workerless(t, broker.Options{})
	out, errs, status := execute(t, "", "interrupt", "--nats-url", url, "s", "--wait", "300ms")
	if out != "" || status != 1 || !strings.Contains(errs, "the interrupt is stored as input 1, but its outcome was not known after 300ms: is a streamer running on these logs?") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
}

// events returns the events of session s.
func (d served) events() (list []events.Event) {
	d.t.Helper()
	err := d.b.Events(d.t.Context(), "s", 0, func(s events.Record) error {
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

// TestWrongInterrupts: a body that names no possible target closes nothing. It is
// rejected on NATS, and refused with the same text over HTTP.
func TestWrongInterrupts(t *testing.T) {
	d := openServer(t)
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
	// A target of one call closes that call only.
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

// own returns the call that started with an id.
func (d served) own(id string) string {
	for _, e := range d.events() {
		if e.Type == events.ToolCallStart && e.ID == id {
			return e.Call
		}
	}
	d.t.Fatalf("no call of id %s has started", id)
	return ""
}
