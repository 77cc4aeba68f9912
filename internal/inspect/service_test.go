package inspect

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// connect connects as a client without credentials does, and waits for the service.
func connect(t *testing.T, b *client.Broker) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	for {
		_, err := nc.RequestWithContext(brokertest.Deadline(t), "$SRV.PING.streamer", nil)
		if err == nil {
			return nc
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			t.Fatal(err)
		}
	}
}

// queryFor sends a request and parses the answer. It returns the code of the error, "" if
// there is none.
func queryFor(t *testing.T, nc *nats.Conn, subject, body string, answer any) (code string) {
	t.Helper()
	m, err := nc.RequestWithContext(brokertest.Deadline(t), subject, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	if code = m.Header.Get(micro.ErrorCodeHeader); code != "" {
		if m.Header.Get(micro.ErrorHeader) == "" {
			t.Errorf("%s %s: error %s without a text", subject, body, code)
		}
		return code
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		t.Fatalf("%s: %v in %s", subject, err, m.Data)
	}
	return ""
}

// TestService: a client gets what the commands print, in pages.
func TestService(t *testing.T) {
	t.Parallel()
	b := serving(t)
	nc := connect(t, b)
	begin(t, b, "s", 10)
	await(t, b, "s", events.ToolCallArgsComplete)
	var info micro.Info
	queryFor(t, nc, "$SRV.INFO.streamer", "", &info)
	if len(info.Endpoints) != 4 || info.Endpoints[0].Subject != "streamer.sessions" {
		t.Errorf("info: got %+v", info)
	}
	var sessions sessionsAnswer
	for len(sessions.Sessions) == 0 { // until the snapshot is written
		if code := queryFor(t, nc, "streamer.sessions", "", &sessions); code != "" {
			t.Fatalf("sessions: error %s", code)
		}
	}
	if s := sessions.Sessions[0]; s.Session != "s" || s.Open != 1 {
		t.Errorf("sessions: got %+v", sessions)
	}
	var calls callsAnswer
	queryFor(t, nc, "streamer.calls", `{"session":"s"}`, &calls)
	if len(calls.Calls) != 1 || calls.Calls[0].ID != "call_a" || calls.More {
		t.Errorf("calls: got %+v", calls)
	}
	var status statusAnswer
	queryFor(t, nc, "streamer.status", "", &status)
	if !status.Ready || !status.Checks.Healthy() || len(status.Checks) < 8 {
		t.Errorf("status: got %+v", status)
	}
}

// TestServicePages: the pages of the events are together the events of the log.
func TestServicePages(t *testing.T) {
	b := serving(t)
	nc := connect(t, b)
	begin(t, b, "s", 1000)
	await(t, b, "s", events.MessageFinished)
	var want []string
	if err := b.Events(t.Context(), "s", 0, func(r events.Record) error { want = append(want, string(r.Data)); return nil }); err != nil {
		t.Fatal(err)
	}
	var got []string
	page := eventsAnswer{More: true}
	for n := 0; page.More; n++ {
		after, _ := json.Marshal(page.After)
		if code := queryFor(t, nc, "streamer.events", `{"session":"s","limit":2,"after":`+string(after)+`}`, &page); code != "" || n > len(want) {
			t.Fatalf("page %d: error %q", n, code)
		}
		for _, e := range page.Events {
			got = append(got, string(e.Event))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) < 3 {
		t.Errorf("got %d events, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	var one eventsAnswer
	queryFor(t, nc, "streamer.events", `{"session":"s","types":["tool_call_args_complete"]}`, &one)
	if len(one.Events) != 1 || one.More {
		t.Errorf("one type: got %d events", len(one.Events))
	}
}

// TestServiceErrors: requests that have no answer.
func TestServiceErrors(t *testing.T) {
	nc := connect(t, serving(t))
	for _, c := range []struct{ subject, body, code string }{
		{"streamer.calls", "", "400"},
		{"streamer.calls", `{"session":"none"}`, "404"},
		{"streamer.events", `{"session":"none"}`, "404"},
		{"streamer.events", `{"session":"s","types":["nothing"]}`, "400"},
		{"streamer.events", `{"session":"s"`, "400"},
		{"streamer.events", `{"session":"s"} {}`, "400"},
		{"streamer.sessions", `{"limit":1001}`, "400"},
		{"streamer.sessions", `{"number":1}`, "400"},
	} {
		t.Run(c.subject+" "+c.body, func(t *testing.T) {
			if code := queryFor(t, nc, c.subject, c.body, nil); code != c.code {
				t.Errorf("%s %s: got error %q, want %s", c.subject, c.body, code, c.code)
			}
		})
	}
}
