package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/rs/zerolog"
)

// TestTokensThatAreNotUTF8 checks that each input of a token that is not UTF-8 is
// skipped and counted, and that snapshots of such tokens are not read. Such an input
// causes no append, no load and no restart; other sessions continue.
func TestTokensThatAreNotUTF8(t *testing.T) {
	h := open(t, broker.Options{Partitions: 4})
	const tokens = 20
	for i := range tokens {
		token := fmt.Sprintf("%c\xff", 'a'+i)
		saved := &broker.Pub{Subject: fmt.Sprintf("$KV.STREAMER_SNAPSHOT.%d.%s", h.broker.Partition(token), token), Data: []byte("{}")}
		saved.Header = map[string][]string{"Streamer-Snapshot-Timer": {"1"}}
		if a := h.broker.PublishWait(t.Context(), saved); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Millisecond, MaxMemory: 1})
	for round := range 2 {
		for i := range tokens {
			h.publish(fmt.Sprintf("%c\xff", 'a'+i), "delta", "{}")
		}
		token := fmt.Sprint("good", round)
		h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
		h.publish(token, "result", fmt.Sprintf(result, 1))
		h.publish(token, "end", `{}`)
		h.wait(token, ofType(events.RunFinished))
		h.until(w, "all is skipped or folded, and evicted", func(s Stats) bool {
			return s.Skipped == uint64(tokens*(round+1)) && s.Sessions == 0
		})
	}
	_, last, err := h.broker.EventBounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); s.Restarts != 0 || s.Folded != 6 || s.Appended != last || s.Adopted != 0 || w.Problem() != nil {
		t.Errorf("got %+v, problem %v and %d events, want 6 inputs folded, their events, and no restart", s, w.Problem(), last)
	}
}

// TestRepeatedRefusals checks that an append that is refused although the head is
// where it was expected is repeated at growing intervals, counts as stuck, and
// succeeds when the reads are correct again.
func TestRepeatedRefusals(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	const plenty = 1 << 20
	log := &outdated{testBroker: h.broker}
	said := new(strings.Builder)
	w := &Worker{Log: log, Options: Options{Nonce: "n"}, Logger: zerolog.New(zerolog.SyncWriter(said))}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0}) }()
	defer func() { cancel(); <-done }()
	h.publish("b", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("b", ofType(events.ToolCallArgsComplete)) // its inputs are folded from now on
	log.heads.Store(plenty)
	h.forge("b", "tool_call_result", "{", nil) // and its next append is refused
	h.publish("b", "result", fmt.Sprintf(result, 1))
	h.until(w, "the session is stuck", func(s Stats) bool { return s.Stuck == 1 })
	if reads := plenty - log.heads.Load(); reads > 50 {
		t.Errorf("got %d reads of the log's end until the session was stuck, want some", reads)
	}
	log.heads.Store(0)
	h.wait("b", ofType(events.ToolCallResult))
	h.until(w, "no session is stuck", func(s Stats) bool { return s.Stuck == 0 })
	if s := w.Stats(); s.Restarts != 0 {
		t.Errorf("got %d restarts, want none", s.Restarts)
	}
	cancel()
	<-done
	if got := strings.Count(said.String(), "append refused repeatedly"); got != 1 {
		t.Errorf("got %d lines about it, want one:\n%s", got, said)
	}
}

// TestClockInputIDInUse checks that a clock input whose message id another publisher
// has used is appended again with another id, and closes its call.
func TestClockInputIDInUse(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	rules := short()
	rules.ResultTimeout, rules.RunIdle = 2000, 3600_000
	w := h.counting(Options{Rules: rules})
	h.ruled()
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	e := h.wait("a", ofType(events.ToolCallArgsComplete))
	var args struct {
		Call     string    `json:"call"`
		Deadline time.Time `json:"deadline"`
	}
	if err := json.Unmarshal(e.Data, &args); err != nil || args.Deadline.IsZero() {
		t.Fatalf("%s: %v, want a deadline", e.Data, err)
	}
	id := fmt.Sprintf("a:clock:deadline:%s:%d:0", args.Call, args.Deadline.UnixMilli())
	if a := h.broker.PublishWait(t.Context(), h.broker.InputPub("attacker", "result", id, nil, []byte(`{"tool_call_id":"x","content":1}`))); a.Err != nil || a.Duplicate {
		t.Fatalf("got %+v, want that it is stored first", a)
	}
	e = h.wait("a", ofType(events.ToolCallResult))
	if !strings.Contains(string(e.Data), `"status":"timeout"`) {
		t.Errorf("got %s, want a timeout", e.Data)
	}
	if s := w.Stats(); s.Asked < 2 {
		t.Errorf("got %d clock inputs, want a second one for the one whose id was in use", s.Asked)
	}
	err := h.broker.Inputs(t.Context(), 0, 1, func(batch []inputs.Input, _ uint64, _ bool) error {
		for _, in := range batch {
			if in.Kind == inputs.Clock && in.Token == "a" && strings.Contains(string(in.Data), "deadline") {
				if !strings.HasPrefix(in.Header.Get("Nats-Msg-Id"), strings.TrimSuffix(id, "0")+"1:") {
					t.Errorf("got id %q, want that of a second try", in.Header.Get("Nats-Msg-Id"))
				}
				return errUnreadable
			}
		}
		return nil
	})
	if !errors.Is(err, errUnreadable) {
		t.Fatal(err)
	}
}
