package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/events/eventstest"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/natsserver"
	"streamer/internal/session"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// errRead ends the reading of a log where the test has read enough.
var errRead = errors.New("read")

// fixture is a broker and the workers on it.
type fixture struct {
	t      *testing.T
	broker *testBroker
	n      int
	// planted is whether the test has stored events that the worker did not make.
	planted bool
}

func open(t *testing.T, opts broker.Options) *fixture {
	t.Helper()
	if opts.URL == "" && opts.Embed == nil {
		opts.Embed = brokertest.Embed(natsserver.Config{DataDir: t.TempDir()})
	}
	if opts.Partitions == 0 {
		opts.Partitions = 4
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := openBroker(ctx, opts)
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	h := &fixture{t: t, broker: b}
	t.Cleanup(h.validate)
	return h
}

// validate checks the events of a test against their published schema. It does nothing
// where the test has stopped the server.
func (h *fixture) validate() {
	if h.planted {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	schema := eventstest.ReadSchema(h.t)
	_ = h.broker.Events(ctx, "", 0, func(r events.Record) error {
		if err := schema.Check(r.Type, r.Data); err != nil {
			h.t.Errorf("event %d: %s\n%v", r.Seq, r.Data, err)
		}
		return nil
	})
}

// work runs a worker until the returned function is called.
func (h *fixture) work(opts Options) (stop func()) { return h.workOn(h.broker, opts) }

// workOn runs a worker on a log that may differ from the broker.
func (h *fixture) workOn(log Log, opts Options) (stop func()) {
	if opts.Nonce == "" {
		opts.Nonce = fmt.Sprint(time.Now().UnixNano())
	}
	if opts.DurableAfter == 0 {
		opts.DurableAfter = 10 * time.Millisecond
	}
	w := &Worker{Log: log, Options: opts, Logger: zerolog.New(zerolog.NewTestWriter(h.t)).Level(zerolog.InfoLevel)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, all(h.broker)) }()
	h.settled(w)
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	h.t.Cleanup(stop)
	return stop
}

// settled waits until a worker has taken all partitions over.
func (h *fixture) settled(w *Worker) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	if err := w.WaitSettled(ctx, h.broker.Partitions()); err != nil {
		h.t.Fatal(err)
	}
}

func all(b *testBroker) []int {
	p := make([]int, b.Partitions())
	for i := range p {
		p[i] = i
	}
	return p
}

func (h *fixture) publish(token, kind, data string) uint64 {
	h.t.Helper()
	h.n++
	ctx, cancel := context.WithTimeout(h.t.Context(), brokertest.Within)
	defer cancel()
	a := h.broker.PublishWait(ctx, h.broker.InputPub(token, inputs.Kind(kind), fmt.Sprintf("%s:%s:%d", token, kind, h.n), nil, []byte(data)))
	if a.Err != nil {
		h.t.Fatal(a.Err)
	}
	return a.Seq
}

// jetStream returns a connection to the broker's server with the rights of an
// operator.
func (h *fixture) jetStream() jetstream.JetStream {
	h.t.Helper()
	return brokertest.JetStream(h.t, h.broker.OwnURL())
}

// stream returns a stream of the broker's server.
func (h *fixture) stream(name string) jetstream.Stream {
	h.t.Helper()
	s, err := h.jetStream().Stream(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// ruled waits until each partition has its first rules input.
func (h *fixture) ruled() {
	h.t.Helper()
	testkit.Until(h.t, "the rules are in the log", func() error {
		_, last, err := h.broker.InputBounds(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		if last < uint64(h.broker.Partitions()) {
			return fmt.Errorf("the log ends at input %d", last)
		}
		return nil
	})
}

// wait reads the events of a session until one matches, and returns it.
func (h *fixture) wait(token string, match func(events.Record) bool) events.Record {
	h.t.Helper()
	return h.await(token, brokertest.Within, match)
}

// await is wait with another limit.
func (h *fixture) await(token string, limit time.Duration, match func(events.Record) bool) events.Record {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), limit)
	defer cancel()
	var found events.Record
	err := h.broker.Tail(ctx, token, 0, func(s events.Record, _ bool) error {
		if s.Seq > 0 && match(s) {
			found = s
			return errRead
		}
		return nil
	}, nil)
	if found.Seq == 0 {
		h.t.Fatalf("session %s: the event waited for did not come: %v", token, err)
	}
	return found
}

func ofType(t events.Type) func(events.Record) bool {
	return func(s events.Record) bool { return s.Type == t }
}

// quiet waits until the events of all sessions are those of a fold of their inputs.
func (h *fixture) quiet() audit.Report {
	h.t.Helper()
	var r audit.Report
	testkit.Until(h.t, "the events are the fold of the inputs", func() (err error) {
		if r, err = (audit.Verification{Log: h.broker}).Run(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		var wrong []string
		for _, d := range r.Differences {
			wrong = append(wrong, d.String())
		}
		return testkit.Check(wrong, nil)
	})
	return r
}

const (
	callDelta = `{"id":"m%d","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},"finish_reason":"tool_calls"}]}`
	result    = `{"tool_call_id":"call_%d","content":"sunny"}`
)

func TestCallAndResult(t *testing.T) {
	h := open(t, broker.Options{})
	h.work(Options{})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	h.publish("a", "result", fmt.Sprintf(result, 1))
	e := h.wait("a", ofType(events.ToolCallResult))
	if !bytes.Contains(e.Data, []byte(`"status":"completed"`)) {
		t.Errorf("result is %s", e.Data)
	}
	if r := h.quiet(); len(r.Differences) > 0 || r.Sessions != 1 {
		t.Errorf("%+v", r)
	}
}

// short returns rules under which calls time out soon.
func short() *lifecycle.Rules {
	r := lifecycle.DefaultRules()
	r.ResultTimeout, r.ArgsTimeout = 300, 300
	return &r
}

func TestTimeout(t *testing.T) {
	h := open(t, broker.Options{})
	stop := h.work(Options{Rules: short(), SnapshotEvery: 20 * time.Millisecond})
	h.ruled()
	for i := range 20 {
		h.publish(fmt.Sprintf("s%d", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	for i := range 20 {
		token := fmt.Sprintf("s%d", i)
		h.wait(token, ofType(events.Synthetic))
	}
	stop()
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Errorf("%v", r.Differences)
	}
}

// TestDeadlineAfterRestart checks that a worker closes a call that an earlier worker
// opened, without further inputs of the session.
func TestDeadlineAfterRestart(t *testing.T) {
	h := open(t, broker.Options{})
	rules := short()
	stop := h.work(Options{Rules: rules, SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	h.ruled()
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	h.work(Options{Rules: rules})
	h.wait("a", ofType(events.Synthetic))
}

// TestTwoWorkers checks that two owners of every partition, with different
// settings, write one log.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{})
	fast := Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Nanosecond}
	one := h.work(fast)
	fast.Rules = short()
	two := h.work(fast)
	quirks := streams(t)
	for i, file := range quirks {
		token := fmt.Sprintf("q%d", i)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			if n < 50 {
				h.publish(token, "delta", line)
			}
		}
		h.publish(token, "interrupt", `{}`)
	}
	r := h.quiet()
	for _, d := range r.Differences {
		t.Error(d)
	}
	if r.Sessions != len(quirks) {
		t.Errorf("%d sessions, want %d", r.Sessions, len(quirks))
	}
	one()
	two()
}

func streams(t *testing.T) []string {
	files, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "quirks", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no quirk streams", err)
	}
	return files
}

// TestResultBeforeDeadline checks that a result in the log closes its call, even if
// the worker reads it long after the deadline.
func TestResultBeforeDeadline(t *testing.T) {
	h := open(t, broker.Options{})
	stop := h.work(Options{Rules: short()})
	h.ruled()
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	done := h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	h.publish("a", "result", fmt.Sprintf(result, 1))
	<-time.After(time.Until(done.At.Add(short().ResultTimeout.Std()))) // the deadline
	h.work(Options{Rules: short()})
	e := h.wait("a", ofType(events.ToolCallResult))
	if !bytes.Contains(e.Data, []byte(`"status":"completed"`)) {
		t.Errorf("result is %s", e.Data)
	}
}

// TestBusyPartition checks that deadlines are kept while inputs arrive without a
// pause.
func TestBusyPartition(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	h.work(Options{Rules: short()})
	h.ruled()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		acks := make(chan broker.Ack, 64)
		for n := 0; ; n++ {
			data := fmt.Sprintf(`{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%d"}}]}`, n)
			h.broker.Publish(h.broker.InputPub("busy", "delta", fmt.Sprintf("busy:%d", n), nil, []byte(data)), acks)
			if n >= cap(acks)-1 {
				<-acks
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.Synthetic))
	close(stop)
	<-done
}

// TestBadTokens checks that an input with a non-canonical session token is rejected
// with the canonical spelling, in the event log of the token as received.
func TestBadTokens(t *testing.T) {
	h := open(t, broker.Options{Embed: listening(t)})
	h.work(Options{})
	for token, words := range map[string]string{"=2e": "=2E", "é": "=C3=A9", "=4": "two hex digits", "=41": "must be spelled", "=FF": "UTF-8"} {
		t.Run(token, func(t *testing.T) {
			h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
			e := h.wait(token, ofType(events.Rejected))
			if !bytes.Contains(e.Data, []byte(words)) || !bytes.Contains(e.Data, []byte("bad_session_token")) {
				t.Errorf("%s: %s", token, e.Data)
			}
		})
	}
	// A token that no server can answer stops no session.
	nc, err := nats.Connect(h.broker.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, token := range []string{"*x", ">y", strings.Repeat("z", 2000)} {
		if err := nc.Publish("llm."+token+".delta", []byte("zz")); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 16 { // every partition continues
		token := fmt.Sprintf("ok%d", i)
		h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
		h.wait(token, ofType(events.ToolCallArgsComplete))
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}

// TestNewerFold checks that a partition in which a newer fold is in force stops and
// is reported, and that the others continue.
func TestNewerFold(t *testing.T) {
	h := open(t, broker.Options{Partitions: 2})
	rules := lifecycle.DefaultRules()
	rules.Version = lifecycle.FoldVersion + 1
	data, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	stopped := h.broker.Partition("a")
	if a := h.broker.PublishWait(t.Context(), h.broker.RulesPub(stopped, "newer", data)); a.Err != nil {
		t.Fatal(a.Err)
	}
	w := &Worker{Log: h.broker, Options: Options{Nonce: "n"}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, all(h.broker)) }()
	other := "b"
	for n := 0; h.broker.Partition(other) == stopped; n++ {
		other = fmt.Sprintf("b%d", n)
	}
	h.publish(other, "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait(other, ofType(events.ToolCallArgsComplete))
	h.settled(w)
	if err := w.Problem(); !errors.Is(err, session.ErrVersion) {
		t.Errorf("problem is %v", err)
	}
	cancel()
	<-done
}

// TestNothingExpiresOfTheOthers checks that a partition that ends while others were
// busy has its checkpoint behind their inputs, or these would count as lost when
// they expire.
func TestNothingExpiresOfTheOthers(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 4})
	w := &Worker{Log: h.broker, Options: Options{Rules: short(), Nonce: "one"}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, all(h.broker)) }()
	h.ruled()
	h.until(w, "each partition has read its rules", func(s Stats) bool {
		return len(s.Carried) == 4 && !slices.ContainsFunc(s.Carried, func(c Carried) bool { return c.Next <= 4 })
	})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	last := h.publish("a", "result", fmt.Sprintf(result, 1))
	h.wait("a", ofType(events.ToolCallResult))
	cancel()
	<-done
	for p := range 4 {
		if m, _, err := h.broker.LoadCheckpoint(t.Context(), p); err != nil || m.Seq <= last {
			t.Errorf("partition %d: got %v and a checkpoint at %d, want it behind %d", p, err, m.Seq, last)
		}
	}
}
