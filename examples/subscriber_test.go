package examples_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// report is a request to the webhook.
type report struct {
	key   string
	event events.Event
}

// TestSubscriber checks that the webhook gets each failed call: one that it refuses at
// first, and one that fails while the subscriber is stopped.
func TestSubscriber(t *testing.T) {
	t.Parallel()
	server, nats := deployed(t, "subscriber")
	reports := make(chan report, 10)
	refused := false
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := report{key: r.Header.Get("Idempotency-Key")}
		if err := json.NewDecoder(r.Body).Decode(&got.event); err != nil {
			t.Error(err)
		}
		if !refused {
			refused = true
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		reports <- got
	}))
	t.Cleanup(webhook.Close)
	subscriber := func() *process {
		p := start(t, exec.Command(program(t, "subscriber"), "--nats-url", nats, "--webhook", webhook.URL))
		p.await(t, "subscriber reads")
		return p
	}

	p := subscriber()
	post(t, server+"/v1/sessions/s/deltas", booking)
	post(t, server+"/v1/sessions/s/results", `{"tool_call_id":"call_1","content":"no table","status":"error"}`)
	first, again := next(t, reports), next(t, reports)
	want(t, "the key of the second delivery", again.key, first.key)
	want(t, "the result", string(first.event.ToolResult), `"no table"`)
	p.stop(t)

	post(t, server+"/v1/sessions/s/deltas", strings.NewReplacer("m1", "m2", "call_1", "call_2").Replace(booking))
	post(t, server+"/v1/sessions/s/deltas", strings.NewReplacer("m1", "m3", "call_1", "call_3").Replace(booking))
	post(t, server+"/v1/sessions/s/results", `{"tool_call_id":"call_2","content":"booked"}`)
	post(t, server+"/v1/sessions/s/results", `{"tool_call_id":"call_3","content":"closed","status":"error"}`)
	read(t, server, "s", func(e *events.Event) bool { return e.Type == events.ToolCallResult && e.ID == "call_3" })
	p = subscriber()
	later := next(t, reports)
	want(t, "the call that failed while the subscriber was stopped", later.event.ID, "call_3")
	if later.key == first.key {
		t.Errorf("two events have the key %s", later.key)
	}
	p.stop(t)
}

// next returns the next request to the webhook.
func next(t *testing.T, reports <-chan report) report {
	t.Helper()
	select {
	case r := <-reports:
		return r
	case <-time.After(within):
		t.Fatal("the webhook gets no request")
		return report{}
	}
}
