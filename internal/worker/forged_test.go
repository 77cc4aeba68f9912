package worker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// forge publishes a message on a subject that only streamer may use.
func (h *fixture) forge(token, kind, body string, header nats.Header) {
	h.t.Helper()
	p := &broker.Pub{Subject: "_toolcalls." + token + ".event." + kind, Header: header, Data: []byte(body)}
	if a := h.broker.PublishWait(h.t.Context(), p); a.Err != nil {
		h.t.Fatal(a.Err)
	}
}

// TestForgedEvent checks that messages of another client in a session's event log
// stop no session. The session's next event is stored behind them, readers skip
// them, and they are counted, logged and found by verify.
func TestForgedEvent(t *testing.T) {
	for what, header := range map[string]nats.Header{
		"bare":                nil,
		"with an id":          {events.HeaderEventID: {"1.7"}},
		"with an early id":    {events.HeaderEventID: {"1.0"}},
		"with a far id":       {events.HeaderEventID: {"18446744073709551615.0"}},
		"with a senseless id": {events.HeaderEventID: {"one"}},
	} {
		t.Run(what, func(t *testing.T) {
			h := open(t, broker.Options{Partitions: 1})
			w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, EvictAfter: time.Hour})
			h.forge("never", "tool_call_result", "{", header) // of a session without inputs
			for i, token := range []string{"resident", "evicted"} {
				h.publish(token, "delta", fmt.Sprintf(callDelta, i, i))
				h.wait(token, ofType(events.ToolCallArgsComplete))
				h.forge(token, "tool_call_result", "not JSON", header)
			}
			h.publish("resident", "result", fmt.Sprintf(result, 0)) // finds it by a refused append
			h.wait("resident", ofType(events.ToolCallResult))
			h.until(w, "one is found", func(s Stats) bool { return s.Forged >= 1 }) // a clock input may find the other

			second := h.counting(Options{SnapshotEvery: 10 * time.Millisecond}) // finds the other when it loads
			h.publish("evicted", "result", fmt.Sprintf(result, 1))
			h.publish("never", "delta", fmt.Sprintf(callDelta, 2, 2))
			h.wait("never", ofType(events.ToolCallArgsComplete))
			e := h.wait("evicted", ofType(events.ToolCallResult))
			if !strings.Contains(string(e.Data), `"status":"completed"`) {
				t.Errorf("the result is %s", e.Data)
			}
			for _, w := range []*Worker{w, second} {
				if s := w.Stats(); s.Restarts != 0 || s.Diverged != 0 || w.Problem() != nil {
					t.Errorf("got %+v, problem %v, want no restart and no problem", s, w.Problem())
				}
			}
			if got := w.Warnings(); len(got) != 1 || !strings.Contains(got[0], "forged") {
				t.Errorf("warnings: got %q, want one of forged messages", got)
			}
			r, err := audit.Verification{Log: h.broker}.Run(t.Context())
			if err != nil || len(r.Differences) != 3 {
				t.Fatalf("verify: got %v, %v, want that three sessions differ", r.Differences, err)
			}
			for _, d := range r.Differences {
				if !strings.Contains(d.Got, "is forged, ") {
					t.Errorf("verify: got %v, want that it says what is forged", d)
				}
			}
		})
	}
}

// TestDivergence checks that a stored event that differs from the fold of its inputs
// stays, and that the worker that folds them again counts it.
func TestDivergence(t *testing.T) {
	for what, n := range map[string]int{"another body": 0, "an event that there is not": 9} {
		t.Run(what, func(t *testing.T) {
			h := open(t, broker.Options{Partitions: 1})
			stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond})
			h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
			last := h.wait("a", ofType(events.ToolCallArgsComplete))
			stop()
			seq := h.publish("a", "result", fmt.Sprintf(result, 1))
			e := events.Event{Type: events.ToolCallResult, EventID: events.ID{Seq: seq, N: n}, Call: last.Call}
			h.planted = true
			if a := h.broker.PublishWait(t.Context(), h.broker.EventPub("a", &e, []byte(`{"status":"denied"}`), nil, last.Seq)); a.Err != nil {
				t.Fatal(a.Err)
			}
			w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond})
			h.publish("a", "delta", fmt.Sprintf(callDelta, 2, 2))
			h.wait("a", func(s events.Record) bool { return s.ID.Seq > seq })
			h.until(w, "one divergence", func(s Stats) bool { return s.Diverged == 1 })
			if got := w.Warnings(); len(got) != 1 || !strings.Contains(got[0], "streamer verify") {
				t.Errorf("warnings: got %q, want one that names `streamer verify`", got)
			}
			if s := w.Stats(); s.Restarts != 0 || s.Forged != 0 || w.Problem() != nil {
				t.Errorf("got %+v, problem %v, want no restart and no problem", s, w.Problem())
			}
		})
	}
}
