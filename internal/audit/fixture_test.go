package audit

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/broker/eventlog"
	"streamer/internal/broker/inputlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"
	"streamer/internal/worker"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

type (
	inputsOf = inputlog.Log
	eventsOf = eventlog.Log
)

// testBroker is a broker with its input log and its event log.
type testBroker struct {
	*broker.Broker
	*inputsOf
	*eventsOf
}

// fixture is a broker with a server of its own, and the workers on it.
type fixture struct {
	t      *testing.T
	broker *testBroker
	n      int
}

func open(t *testing.T, opts broker.Options) *fixture {
	t.Helper()
	opts.Embed = brokertest.Embed(natsserver.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
	if opts.Partitions == 0 {
		opts.Partitions = 4
	}
	return openBroker(t, opts)
}

func openBroker(t *testing.T, opts broker.Options) *fixture {
	t.Helper()
	b, err := broker.Open(brokertest.Deadline(t), opts)
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return &fixture{t: t, broker: &testBroker{b, inputlog.New(b), eventlog.New(b)}}
}

// work runs a worker on all partitions until the returned function is called.
func (h *fixture) work(opts worker.Options) (stop func()) {
	_, stop = h.worker(opts)
	return stop
}

// worker is work that returns the worker too, when it has taken all partitions over
// or stopped.
func (h *fixture) worker(opts worker.Options) (w *worker.Worker, stop func()) {
	h.t.Helper()
	h.n++
	opts.Nonce = fmt.Sprint("n", h.n)
	w = &worker.Worker{Log: h.broker, Options: opts, Logger: zerolog.Nop()}
	var partitions []int
	for p := range h.broker.Partitions() {
		partitions = append(partitions, p)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, partitions) }()
	stop = func() { cancel(); <-done }
	h.t.Cleanup(stop)
	if err := w.WaitSettled(brokertest.Deadline(h.t), len(partitions)); err != nil {
		h.t.Fatal(err)
	}
	return w, stop
}

// publish stores an input and returns its sequence.
func (h *fixture) publish(token, kind, data string) uint64 {
	h.t.Helper()
	h.n++
	a := h.broker.PublishWait(brokertest.Deadline(h.t), h.broker.InputPub(token, inputs.Kind(kind), fmt.Sprint("input", h.n), nil, []byte(data)))
	if a.Err != nil {
		h.t.Fatal(a.Err)
	}
	return a.Seq
}

// stream returns a stream of the broker's server.
func (h *fixture) stream(name string) jetstream.Stream {
	h.t.Helper()
	s, err := brokertest.JetStream(h.t, h.broker.OwnURL()).Stream(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// wait reads the events of a session until one matches.
func (h *fixture) wait(token string, match func(events.Record) bool) {
	h.t.Helper()
	found := errors.New("found")
	err := h.broker.Tail(brokertest.Deadline(h.t), token, 0, func(s events.Record, _ bool) error {
		if s.Seq > 0 && match(s) {
			return found
		}
		return nil
	}, nil)
	if !errors.Is(err, found) {
		h.t.Fatalf("session %s: the event waited for did not come: %v", token, err)
	}
}

func ofType(t events.Type) func(events.Record) bool {
	return func(s events.Record) bool { return s.Type == t }
}

// covered waits until a checkpoint covers all inputs stored so far.
func (h *fixture) covered() {
	h.t.Helper()
	_, last, err := h.broker.InputBounds(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for deadline := time.Now().Add(brokertest.Within); ; {
		least := last + 1
		for p := range h.broker.Partitions() {
			m, _, err := h.broker.LoadCheckpoint(h.t.Context(), p)
			if err != nil {
				h.t.Fatal(err)
			}
			least = min(least, m.Seq)
		}
		if least > last {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("the lowest checkpoint is at %d after %v, want it above %d", least, brokertest.Within, last)
		}
	}
}

const (
	callDelta = `{"id":"m%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},"finish_reason":"tool_calls"}]}`
	result    = `{"tool_call_id":"call_%d","content":"sunny"}`
)
