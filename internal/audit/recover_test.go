package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/internal/snapshot"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go/jetstream"
)

// TestRecover checks a partition whose inputs expired before they were folded. It
// stops and reports that. Recover closes its open items as lost and mutes its
// unfinished messages, and the partition continues.
func TestRecover(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	stop := h.work(worker.Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.publish("a", "delta", `{"id":"m2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_2","function":{"name":"f","arguments":"{\"x"}}]}}]}`)
	h.wait("a", func(s events.Record) bool {
		return s.Type == events.ToolCallStart && bytes.Contains(s.Data, []byte("call_2"))
	})
	stop()
	var last uint64
	for n := range 5 {
		last = h.publish("a", "delta", fmt.Sprintf(callDelta, 10+n, 10+n))
	}
	purge(t, h, last)

	w, _ := h.worker(worker.Options{RecoveredEvery: 20 * time.Millisecond})
	if err := w.Problem(); !errors.Is(err, worker.ErrLost) {
		t.Fatalf("problem is %v", err)
	}
	losses, err := Losses(t.Context(), h.broker, nil)
	if err != nil || len(losses) != 1 || len(losses[0].Sessions) != 1 || len(losses[0].Sessions[0].Open.Calls()) != 2 {
		t.Fatalf("losses %+v, %v", losses, err)
	}
	if err := Recover(t.Context(), h.broker, losses[0]); err != nil {
		t.Fatal(err)
	}
	if again, err := Losses(t.Context(), h.broker, nil); err != nil || again != nil {
		t.Errorf("after recovering: losses %+v, %v", again, err)
	}

	for deadline := time.Now().Add(brokertest.Within); w.Problem() != nil; {
		if time.Now().After(deadline) {
			t.Fatalf("after recovering the problem is still %v", w.Problem())
		}
		runtime.Gosched()
	}
	// The rest of the cut message opens no call, a real result is late, and another
	// message is used as usual.
	h.publish("a", "delta", `{"id":"m2","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]}}]}`)
	h.publish("a", "result", `{"tool_call_id":"call_1","content":"late"}`)
	h.publish("a", "delta", fmt.Sprintf(callDelta, 20, 20))
	h.wait("a", func(s events.Record) bool {
		return s.Type == events.ToolCallArgsComplete && bytes.Contains(s.Data, []byte("call_20"))
	})
	var log []string
	ids := map[events.ID]bool{}
	err = h.broker.Events(t.Context(), "a", 0, func(s events.Record) error {
		if ids[s.ID] {
			t.Errorf("event id %s is used twice", s.ID)
		}
		ids[s.ID] = true
		log = append(log, fmt.Sprintf("%s %s", s.Type, s.Data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	count := func(parts ...string) (n int) {
		for _, line := range log {
			all := true
			for _, p := range parts {
				all = all && bytes.Contains([]byte(line), []byte(p))
			}
			if all {
				n++
			}
		}
		return n
	}
	if count("tool_call_result ", `"code":"lost"`) != 2 || count("synthetic ", "tool_call_id") != 2 ||
		count("run_finished", `"code":"lost"`) != 1 || count("tool_call_late_result", "call_1") != 1 || count("tool_call_start", "call_2\"") != 1 {
		t.Errorf("log is\n%s", log)
	}
}

// purge removes the inputs before seq from the log, as their expiry would.
func purge(t *testing.T, h *fixture, seq uint64) {
	t.Helper()
	if err := h.stream("LLM").Purge(t.Context(), jetstream.WithPurgeSequence(seq)); err != nil {
		t.Fatal(err)
	}
}

// TestRecoverNothingOpen checks that the snapshot of a recovered session without
// events can be read.
func TestRecoverNothingOpen(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	r := recovery{log: h.broker, loss: Loss{First: 9}}
	if err := r.session(t.Context(), &LostSession{Token: "b"}); err != nil {
		t.Fatal(err)
	}
	stored, ok, err := h.broker.LoadSnapshot(t.Context(), 0, "b")
	if err != nil || !ok {
		t.Fatalf("snapshot: %v, %v", ok, err)
	}
	state, err := snapshot.Load(stored.Data)
	header := snapshot.ParseHeader(stored.Header)
	if err != nil || state.N != 8 || header.Head != (events.ID{}) {
		t.Errorf("got %+v, %+v, %v, want the state after input 8 and no event", header, state, err)
	}
}

// TestRecoverRules checks that Recover uses the rules of the checkpoint, and the
// defaults where they cannot be read.
func TestRecoverRules(t *testing.T) {
	for rules, want := range map[string]string{
		`{"lang":"zh"}`:   "zh",
		``:                "en",
		`{"lang":"none"}`: "en",
	} {
		t.Run(rules, func(t *testing.T) {
			got, err := rulesAt(broker.Checkpoint{Seq: 1, Rules: json.RawMessage(rules)})
			if err != nil || got.Lang != want {
				t.Errorf("%q: got %+v, %v, want the language %s", rules, got, err, want)
			}
		})
	}
	newer := fmt.Sprintf(`{"version":%d}`, session.FoldVersion+1)
	if _, err := rulesAt(broker.Checkpoint{Seq: 1, Rules: json.RawMessage(newer)}); !errors.Is(err, session.ErrVersion) {
		t.Errorf("rules of a newer version: got %v, want session.ErrVersion", err)
	}
}
