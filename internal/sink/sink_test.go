package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

func TestMain(m *testing.M) { brokertest.Main(m) }

// request is one that the receiver got.
type request struct {
	header http.Header
	body   []byte
}

// receiver is a server of webhooks. answer returns the status of a request.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(r request) int
	got    []request // that were answered 200
	tries  int
}

func newReceiver(t *testing.T, answer func(r request) int) *receiver {
	t.Helper()
	v := &receiver{answer: answer}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.tries++
		q := request{r.Header.Clone(), body}
		status := http.StatusOK
		if v.answer != nil {
			status = v.answer(q)
		}
		if status == http.StatusOK {
			v.got = append(v.got, q)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(v.Close)
	return v
}

// ids returns session and id of each delivered event, in order.
func (v *receiver) ids(t *testing.T) (list []string) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, q := range v.got {
		var batch struct{ Data []events.Event }
		if err := json.Unmarshal(q.body, &batch); err != nil {
			t.Fatalf("%s: %v", q.body, err)
		}
		for i := range batch.Data {
			list = append(list, batch.Data[i].Session+" "+batch.Data[i].EventID.String())
		}
	}
	return list
}

func (v *receiver) await(t *testing.T, want ...string) {
	t.Helper()
	testkit.Until(t, "the events", func() error {
		if got := v.ids(t); !slices.Equal(got, want) {
			return fmt.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
}

// source is a broker whose event log the tests fill.
type source struct {
	*broker.Broker
	t    *testing.T
	prev map[string]uint64
}

func newSource(t *testing.T) *source {
	t.Helper()
	return sourceOf(t, broker.Options{})
}

func sourceOf(t *testing.T, o broker.Options) *source {
	t.Helper()
	o.Partitions = 1
	return &source{brokertest.Start(t, o), t, map[string]uint64{}}
}

func (s *source) event(session string, seq uint64, typ events.Type) {
	s.t.Helper()
	e := events.Event{Type: typ, EventID: events.ID{Seq: seq}, Session: session}
	body, err := e.Body()
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := events.Token(session)
	if err != nil {
		s.t.Fatal(err)
	}
	s.prev[token] = brokertest.Must(s.t, s.Broker, eventlog.New(s.Broker).EventPub(token, &e, body, nil, s.prev[token]))
}

// run runs a sink until stop is called. It waits until the sink has a consumer.
func (s *source) run(o Options) (made *Sink, stop func()) {
	s.t.Helper()
	return s.runWith(o, time.Millisecond, 300*time.Millisecond)
}

func (s *source) runWith(o Options, pause, ackWait time.Duration) (made *Sink, stop func()) {
	s.t.Helper()
	made, err := New(o, s.Broker, zerolog.Nop())
	if err != nil {
		s.t.Fatal(err)
	}
	made.pause, made.ackWait = pause, ackWait
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- made.Run(ctx) }()
	testkit.Until(s.t, "the consumer", func() error {
		list, err := List(ctx, s.Broker)
		if err == nil && len(list) == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	return made, stop
}

// TestSigned: the example of the specification
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
func TestSigned(t *testing.T) {
	list, err := ParseSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n\nanother secret that is long enough\n")
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d secrets, %v", len(list), err)
	}
	got := list.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s…", got, want)
	}
	for _, text := range []string{"", "short", "whsec_*", "whsec_c2hvcnQ="} {
		if _, err := ParseSecrets(text); err == nil || text != "" && strings.Contains(err.Error(), "c2hvcnQ") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestDelivery: the events that are selected arrive in order and signed, also those that
// were stored while no process ran, and none twice.
func TestDelivery(t *testing.T) {
	s, v := newSource(t), newReceiver(t, nil)
	s.event("before", 1, events.RunStarted)
	secrets, err := ParseSecrets("a secret of some length")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{URL: v.URL, Secrets: secrets, Types: []events.Type{events.ToolCallStart, events.ToolCallResult}, Match: func(session string) bool { return session != "other" }}
	_, stop := s.run(o)
	s.event("s 1", 2, events.ToolCallStart)
	s.event("s 1", 3, events.RunStarted)
	s.event("other", 4, events.ToolCallStart)
	v.await(t, "s 1 2.0")
	stop()
	s.event("s 1", 5, events.ToolCallResult)
	s.event("t", 6, events.ToolCallStart)
	made, _ := s.run(o)
	v.await(t, "s 1 2.0", "s 1 5.0", "t 6.0")
	for _, q := range v.got {
		id, at := q.header.Get("Webhook-Id"), q.header.Get("Webhook-Timestamp")
		if got, want := q.header.Get("Webhook-Signature"), secrets.sign(id, at, q.body); got != want || id == "" || at == "" {
			t.Errorf("signature of %q at %q: got %q, want %q", id, at, got, want)
		}
	}
	testkit.Until(t, "the acknowledgements", func() error {
		list, err := List(t.Context(), s.Broker)
		if err == nil && (len(list) != 1 || list[0] != Status{Name: "default"}) {
			err = fmt.Errorf("got %+v", list)
		}
		return err
	})
	if delivered, failed, dead := made.Counts(); delivered != 2 || failed != 0 || dead != 0 {
		t.Errorf("counts: %d, %d, %d of %q", delivered, failed, dead, v.ids(t))
	}
}

// TestCloudEvents: each event has the attributes that CloudEvents 1.0 requires.
func TestCloudEvents(t *testing.T) {
	s, v := newSource(t), newReceiver(t, nil)
	s.run(Options{URL: v.URL, CloudEvents: true})
	s.event("s 1", 2, events.ToolCallStart)
	testkit.Until(t, "a request", func() error {
		v.mu.Lock()
		defer v.mu.Unlock()
		if len(v.got) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	var list []map[string]any
	if err := json.Unmarshal(v.got[0].body, &list); err != nil || len(list) != 1 {
		t.Fatalf("%s: %v", v.got[0].body, err)
	}
	e := list[0]
	for name, want := range map[string]string{
		"specversion": "1.0", "id": "2.0", "source": "/v1/sessions/s=201", "type": "streamer.tool_call_start", "subject": "s 1", "datacontenttype": "application/json",
	} {
		if e[name] != want {
			t.Errorf("%s: got %v, want %s", name, e[name], want)
		}
	}
	if got := v.got[0].header.Get("Content-Type"); !strings.HasPrefix(got, "application/cloudevents-batch+json") {
		t.Errorf("media type: %s", got)
	}
}

// TestRepetition: a busy server gets the same request again, with one id.
func TestRepetition(t *testing.T) {
	s := newSource(t)
	ids := map[string]bool{}
	answers := []int{503, 429, 302, 401, 404, 200}
	v := newReceiver(t, func(q request) int {
		ids[q.header.Get("Webhook-Id")] = true
		status := answers[0]
		answers = answers[1:]
		return status
	})
	made, _ := s.run(Options{URL: v.URL})
	s.event("s", 2, events.ToolCallStart)
	v.await(t, "s 2.0")
	testkit.Until(t, "the end of the warning", func() error {
		if list := made.Warnings(); len(list) > 0 {
			return fmt.Errorf("got %q", list)
		}
		return nil
	})
	if len(ids) != 1 {
		t.Errorf("ids %v", ids)
	}
}

// TestDead: what is refused, or cannot be delivered for too long, is a dead letter, and the
// others are delivered.
func TestDead(t *testing.T) {
	s := newSource(t)
	v := newReceiver(t, func(q request) int {
		if strings.Contains(string(q.body), `"bad"`) {
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	o := Options{URL: v.URL}
	_, stop := s.run(o)
	stop() // so that the events are one batch
	s.event("good", 2, events.ToolCallStart)
	s.event("bad", 3, events.ToolCallStart)
	s.event("good", 4, events.ToolCallResult)
	made, stop := s.run(o)
	v.await(t, "good 2.0", "good 4.0")
	testkit.Until(t, "the dead letter", func() error {
		list, err := List(t.Context(), s.Broker)
		if err == nil && (len(list) != 1 || list[0].Dead != 1) {
			err = fmt.Errorf("got %+v", list)
		}
		return err
	})
	var letters []Dead
	if err := Letters(t.Context(), s.Broker, "default", func(_ uint64, d Dead) error { letters = append(letters, d); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(letters) != 1 || letters[0].Session != "bad" || letters[0].EventID != "3.0" || !strings.Contains(letters[0].Why, "422") {
		t.Errorf("got %+v", letters)
	}
	if _, _, dead := made.Counts(); dead != 1 {
		t.Errorf("%d are dead", dead)
	}
	stop()
	v.Close()
	o.GiveUp = time.Nanosecond
	late, _ := s.run(o)
	s.event("good", 5, events.ToolCallStart)
	testkit.Until(t, "the dead letter", func() error {
		if _, _, dead := late.Counts(); dead != 1 {
			return fmt.Errorf("%d are dead", dead)
		}
		return nil
	})
}

// TestAgain: dead letters that are accepted are removed, and those that are refused stay, as do
// all while the server does not answer.
func TestAgain(t *testing.T) {
	s := newSource(t)
	refuse := "s"
	v := newReceiver(t, func(q request) int {
		switch {
		case refuse == "busy":
			return http.StatusServiceUnavailable
		case refuse != "" && strings.Contains(string(q.body), `"session":"`+refuse):
			return http.StatusUnprocessableEntity
		}
		return http.StatusOK
	})
	made, stop := s.run(Options{URL: v.URL})
	s.event("s1", 2, events.ToolCallStart)
	s.event("s2", 3, events.ToolCallStart)
	s.event("s1", 4, events.ToolCallResult)
	testkit.Until(t, "the dead letters", func() error {
		if _, _, dead := made.Counts(); dead != 3 {
			return fmt.Errorf("%d are dead", dead)
		}
		return nil
	})
	stop()
	for _, c := range []struct {
		refuse                    string
		accepted, left, remaining int
	}{{"busy", 0, 0, 3}, {"s2", 2, 1, 1}, {"", 1, 0, 0}, {"", 0, 0, 0}} {
		refuse = c.refuse
		accepted, left, err := made.Again(t.Context())
		if accepted != c.accepted || left != c.left || (err != nil) != (c.refuse == "busy") {
			t.Errorf("refusing %q: got %d accepted, %d left, %v", c.refuse, accepted, left, err)
		}
		remaining := 0
		if err := Letters(t.Context(), s.Broker, "default", func(uint64, Dead) error { remaining++; return nil }); err != nil || remaining != c.remaining {
			t.Errorf("refusing %q: %d dead letters remain, %v; want %d", c.refuse, remaining, err, c.remaining)
		}
	}
	v.await(t, "s1 2.0", "s1 4.0", "s2 3.0")
}

// TestOptions: what cannot work is refused, and no error has the URL, which may have a
// secret.
func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {URL: "ftp://x"}, {URL: "http://a\x00b"}, {URL: "http://x", Name: "a.b"}, {URL: "http:x"}, {URL: "https+x://y"}, {URL: "http://x", Batch: 1e6}} {
		if _, err := New(o, nil, zerolog.Nop()); err == nil || strings.Contains(err.Error(), "://") {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	made, err := New(Options{URL: "http://127.0.0.1:1/?key=hidden"}, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := made.post(t.Context(), []event{{data: []byte("{}")}}); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

// TestCrash: events that a process read and did not acknowledge come before later ones.
func TestCrash(t *testing.T) {
	s, v := newSource(t), newReceiver(t, nil)
	_, stop := s.run(Options{URL: v.URL})
	stop()
	s.event("s", 2, events.ToolCallStart)
	js, err := jetstream.New(s.Conn())
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.Consumer(t.Context(), broker.StreamEvents, consumerPrefix+"default")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "an event without an ack", func() error { // the server may not expect requests for a new consumer yet
		_, err := c.Next(jetstream.FetchContext(brokertest.Deadline(t)))
		return err
	})
	s.event("s", 3, events.ToolCallResult)
	s.run(Options{URL: v.URL})
	v.await(t, "s 2.0", "s 3.0")
}

// TestParts: requests are bounded in bytes, and an event that has more comes alone.
func TestParts(t *testing.T) {
	var list []event
	for _, size := range []int{1, maxBody, maxBody / 2, maxBody / 2, 1, 2 * maxBody, 1} {
		list = append(list, event{data: make([]byte, size)})
	}
	var got []int
	for part := range parts(list) {
		got = append(got, len(part))
	}
	if want := []int{1, 1, 2, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("parts of %v events, want %v", got, want)
	}
}

// TestRecovered: a warning ends when events can be read again, though there are none.
func TestRecovered(t *testing.T) {
	s, v := newSource(t), newReceiver(t, nil)
	made, err := New(Options{URL: v.URL}, s.Broker, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	made.fail(errors.New("reading events"))
	made.fetchWait = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- made.Run(ctx) }()
	testkit.Until(t, "no warning", func() error {
		if w := made.Warnings(); len(w) > 0 {
			return fmt.Errorf("got %v", w)
		}
		return nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestReconnection: while NATS is away, the warning says so. When it is back, events are
// delivered at once, and once: one that was posted meanwhile is acknowledged.
func TestReconnection(t *testing.T) {
	for _, c := range []struct {
		pause time.Duration
		want  string
	}{{time.Millisecond, "sink default: not connected to NATS"}, {time.Hour, "sink default: "}} {
		t.Run(c.pause.String(), func(t *testing.T) {
			t.Parallel()
			server := brokertest.NewServer(t)
			s := sourceOf(t, broker.Options{URL: server.URL()})
			posted, answer := make(chan bool), make(chan bool)
			v := newReceiver(t, func(q request) int {
				if strings.Contains(string(q.body), `"slow"`) {
					posted <- true
					<-answer
				}
				return http.StatusOK
			})
			made, _ := s.runWith(Options{URL: v.URL}, c.pause, time.Hour)
			s.event("slow", 2, events.ToolCallStart)
			<-posted
			server.Stop()
			testkit.UntilTrue(t, "disconnected", func() bool { return !s.Connected() })
			answer <- true
			v.await(t, "slow 2.0")
			restart := func() {
				testkit.Until(t, "the warning", func() error {
					if w := made.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], c.want) {
						return fmt.Errorf("got %q, want %q", w, c.want)
					}
					return nil
				})
				server.Start()
			}
			restart()
			s.event("s", 3, events.ToolCallStart)
			v.await(t, "slow 2.0", "s 3.0")
			server.Stop() // while the sink waits for an event
			restart()
			s.event("s", 4, events.ToolCallStart)
			v.await(t, "slow 2.0", "s 3.0", "s 4.0")
			if w := made.Warnings(); len(w) > 0 {
				t.Errorf("got %q", w)
			}
		})
	}
}
