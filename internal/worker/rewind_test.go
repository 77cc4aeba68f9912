package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/natsserver"
	"streamer/internal/session"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// directory is a data directory that brokers and workers use, one after the other.
type directory struct {
	t   *testing.T
	dir string
}

// run runs a worker with the given rules until do returns.
func (d directory) run(rules *lifecycle.Rules, do func(h *fixture)) {
	d.t.Helper()
	b, err := openBroker(d.t.Context(), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: d.dir}), Partitions: 1})
	if err != nil {
		d.t.Fatal(err)
	}
	defer b.Close()
	if err := b.Admit(); err != nil {
		d.t.Fatal(err)
	}
	h := &fixture{t: d.t, broker: b}
	w := &Worker{Log: b, Options: Options{Nonce: fmt.Sprint(time.Now().UnixNano()), Rules: rules}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0}) }() // it ends when it is stopped
	defer func() { cancel(); <-done }()
	h.settled(w)
	do(h)
}

// inputs returns the directory of the input stream.
func (d directory) inputs() string {
	return filepath.Join(d.dir, "jetstream", "jetstream", "STREAMER", "streams", "LLM")
}

// rewind calls do, and then restores the files of the input stream from before.
func (d directory) rewind(do func()) {
	d.t.Helper()
	saved := d.t.TempDir()
	err := os.CopyFS(saved, os.DirFS(d.inputs()))
	do()
	if err := errors.Join(err, os.RemoveAll(d.inputs()), os.CopyFS(d.inputs(), os.DirFS(saved))); err != nil {
		d.t.Fatal(err)
	}
}

// TestRewindsWithoutCheckpoint checks that inputs stored since a rewind are not
// folded again if the checkpoint that recorded the rewind is lost.
func TestRewindsWithoutCheckpoint(t *testing.T) {
	for name, damage := range map[string]*broker.Pub{
		"deleted":     {Header: nats.Header{"KV-Operation": {"DEL"}}},
		"overwritten": {Data: []byte("?")},
	} {
		t.Run(name, func(t *testing.T) {
			d := directory{t, t.TempDir()}
			rules := lifecycle.DefaultRules()
			call := func(token string) func(h *fixture) {
				return func(h *fixture) {
					h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
					h.publish(token, "result", fmt.Sprintf(result, 1))
					h.wait(token, ofType(events.ToolCallResult))
				}
			}
			d.run(&rules, call("a"))
			d.rewind(func() { d.run(&rules, call("b")) })
			d.run(&rules, func(h *fixture) {
				call("c")(h)
				h.covered() // the snapshot of c is stored, which has the rewind too
			})
			d.run(&rules, func(h *fixture) {
				damage.Subject = "$KV.STREAMER_CHECKPOINT.0"
				if a := h.broker.PublishWait(t.Context(), damage); a.Err != nil {
					t.Fatal(a.Err)
				}
			})
			d.run(&rules, func(h *fixture) {
				call("d")(h) // after all inputs that would be folded again
				r := h.quiet()
				for end := time.Now().Add(brokertest.Within); r.Lost != 1 && time.Now().Before(end); r = h.quiet() {
					continue // the rewind is recorded again with the next checkpoint
				}
				if len(r.Differences) > 0 || r.Sessions != 3 || r.Lost != 1 {
					t.Errorf("got %v, %d sessions compared and %d not, want three without difference, and the lost one", r.Differences, r.Sessions, r.Lost)
				}
			})
		})
	}
}

// TestRulesLostInRewind checks that a change of settings that the input log lost is
// not in force for the inputs stored since, and that the worker with these settings
// appends them again.
func TestRulesLostInRewind(t *testing.T) {
	d := directory{t, t.TempDir()}
	call := func(token string) func(h *fixture) {
		return func(h *fixture) {
			h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
			h.wait(token, ofType(events.ToolCallArgsComplete))
		}
	}
	before, lost := lifecycle.DefaultRules(), lifecycle.DefaultRules()
	before.ResultTimeout, lost.ResultTimeout = 3600_000, 7200_000
	d.run(&before, call("a"))
	d.rewind(func() { d.run(&lost, call("b")) })
	d.run(&lost, func(h *fixture) {
		call("c")(h)
		in, ok, err := h.broker.LastRules(t.Context(), 0)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if rules, err := session.ParseRules(in.Data); err != nil || rules.ResultTimeout != lost.ResultTimeout {
			t.Errorf("the last change of settings in the log is %s, %v, want that of the worker", in.Data, err)
		}
		r := h.quiet()
		if len(r.Differences) > 0 || r.Sessions != 2 || r.Lost != 1 {
			t.Errorf("got %v, %d sessions compared and %d not, want two without difference, and the lost one", r.Differences, r.Sessions, r.Lost)
		}
	})
}

// TestEventStoredAfterRewind checks that an event of a lost input, stored after the
// log was rewound, does not make the worker skip inputs stored before the event.
func TestEventStoredAfterRewind(t *testing.T) {
	d := directory{t, t.TempDir()}
	rules := lifecycle.DefaultRules()
	call := func(h *fixture, token string) events.Record {
		h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
		return h.wait(token, ofType(events.ToolCallArgsComplete))
	}
	d.run(&rules, func(h *fixture) { call(h, "a") })
	var last events.Record
	d.rewind(func() {
		d.run(&rules, func(h *fixture) {
			for i := range 5 { // so that the new input is stored before its place
				h.publish("b", "progress", fmt.Sprintf(`{"tool_call_id":"none%d"}`, i))
			}
			last = call(h, "b")
		})
	})

	b, err := openBroker(t.Context(), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: d.dir}), Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{t: t, broker: b}
	h.publish("c", "delta", fmt.Sprintf(callDelta, 1, 1))
	late := events.Event{Type: events.ToolCallProgress, EventID: events.ID{Seq: last.ID.Seq, N: last.ID.N + 1}}
	for _, p := range []*broker.Pub{
		b.EventPub("b", &late, last.Data, nil, last.Seq),
		// Only the event shows when the lost input was stored.
		{Subject: "$KV.STREAMER_SNAPSHOT.0.b", Header: nats.Header{"KV-Operation": {"DEL"}}},
		{Subject: "$KV.STREAMER_CHECKPOINT.0", Header: nats.Header{"KV-Operation": {"DEL"}}},
	} {
		if a := b.PublishWait(t.Context(), p); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	d.run(&rules, func(h *fixture) {
		if e := h.wait("c", ofType(events.ToolCallArgsComplete)); e.ID.Seq <= last.ID.Seq {
			t.Errorf("the event of the new input has id %s, want it behind %s", e.ID, last.ID)
		}
	})
}
