package natsservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// errTooLong is the error for a request that echo refuses.
var errTooLong = errors.New("too long")

// echo returns a service that answers with the request.
func echo() Service {
	return Service{
		Name: "echo", Version: "1.2.3", Description: "says it again",
		Endpoints: []Endpoint{{Name: "say", Subject: "echo.say", Answer: func(_ context.Context, request []byte, limit int) ([]byte, error) {
			if len(request) > limit {
				return nil, errTooLong
			}
			return request, nil
		}}},
		Status: func(err error) (int, string) { return 413, err.Error() + ",\nwith two lines" },
	}
}

// serving runs a service until stop, and waits until it accepts requests.
func serving(t *testing.T, b *broker.Broker, s Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, b, s) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	known := "$SRV.PING." + s.Name
	for ctx := brokertest.Deadline(t); ; {
		_, err := b.Conn().RequestWithContext(ctx, known, nil)
		if err == nil {
			return stop
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			t.Fatalf("%s: %v", known, err)
		}
	}
}

// stranger connects to the account of the services, where a requester's reply
// subject is not rewritten.
func stranger(t *testing.T, b *broker.Broker) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(b.OwnURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func ask(t *testing.T, nc *nats.Conn, subject, body string) *nats.Msg {
	t.Helper()
	m, err := nc.RequestWithContext(brokertest.Deadline(t), subject, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", subject, err)
	}
	return m
}

// Requests of other clients are answered, and a refusal has the reason.
func TestServe(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	serving(t, b, echo())
	nc := stranger(t, b)
	if got := ask(t, nc, "echo.say", "hello"); string(got.Data) != "hello" || len(got.Header) > 0 {
		t.Errorf("got %q, %v", got.Data, got.Header)
	}
	got := ask(t, nc, "echo.say", strings.Repeat("a", b.MaxPayload()))
	if got.Header.Get(micro.ErrorCodeHeader) != "413" || got.Header.Get(micro.ErrorHeader) != "too long, with two lines" || string(got.Data) != `{"error":"too long,\nwith two lines"}` {
		t.Errorf("too long: got %v, %s", got.Header, got.Data)
	}
}

// Tools find the service as they find those of the library.
func TestServeIsFound(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	serving(t, b, echo())
	nc := stranger(t, b)
	ask(t, nc, "echo.say", "hello")
	var ping micro.Ping
	var info micro.Info
	var stats micro.Stats
	for subject, to := range map[string]any{"$SRV.PING": &ping, "$SRV.INFO.echo": &info, "$SRV.STATS.echo": &stats} {
		if err := json.Unmarshal(ask(t, nc, subject, "").Data, to); err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
	}
	if ping.Name != "echo" || ping.Version != "1.2.3" || ping.ID == "" || ping.Type != micro.PingResponseType {
		t.Errorf("ping: %+v", ping)
	}
	if len(info.Endpoints) != 1 || info.Endpoints[0].Subject != "echo.say" || info.Endpoints[0].QueueGroup != "echo" || info.Description == "" || info.ID != ping.ID {
		t.Errorf("info: %+v", info)
	}
	if len(stats.Endpoints) != 1 || stats.Endpoints[0].NumRequests != 1 || stats.Endpoints[0].NumErrors != 0 {
		t.Errorf("stats: %+v", stats.Endpoints[0])
	}
	if ask(t, nc, "$SRV.PING.echo."+ping.ID, ""); ping.Metadata == nil {
		t.Error("metadata is null, and tools want an object")
	}
}

// Two instances share the requests. Each request is answered once.
func TestServeShared(t *testing.T) {
	one := brokertest.Start(t, broker.Options{})
	two := brokertest.Start(t, broker.Options{URL: one.OwnURL()})
	var counts [2]atomic.Int32
	for i, b := range []*broker.Broker{one, two} {
		s := echo()
		s.Endpoints[0].Answer = func(_ context.Context, request []byte, _ int) ([]byte, error) {
			counts[i].Add(1)
			return request, nil
		}
		serving(t, b, s)
	}
	nc := stranger(t, one)
	const n = 200
	for i := range n {
		ask(t, nc, "echo.say", fmt.Sprint(i))
	}
	a, b := counts[0].Load(), counts[1].Load()
	if a+b != n || a == 0 || b == 0 {
		t.Errorf("%d requests: %d and %d answered", n, a, b)
	}
}

// A requester cannot make the service publish on a subject on which the requester may
// not publish.
func TestServeReplies(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	stop := serving(t, b, echo())
	nc := stranger(t, b)
	forbidden := []string{"_toolcalls.s.event.run_started", "toolcalls.s.event.run_started", "_llm.0.s.delta", "llm.s.delta", "_blobs.x", "$KV.STREAMER_SNAPSHOT.s", "$JS.API.STREAM.DELETE.LLM", ""}
	for _, reply := range forbidden {
		if broker.RepliesTo(reply) {
			t.Errorf("an answer may be sent to %q", reply)
		}
		for _, subject := range []string{"echo.say", "$SRV.PING", "$SRV.INFO.echo"} {
			if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask(t, nc, "echo.say", "all before this is taken")
	stop()
	for _, stream := range []string{broker.StreamInputs, broker.StreamEvents, "STREAMER_BLOBS"} {
		if s, err := b.Bounds(brokertest.Deadline(t), stream); err != nil || s.Last >= s.First {
			t.Errorf("stream %s: %+v, %v, want nothing in it", stream, s, err)
		}
	}
	for _, reply := range []string{"_INBOX.a.b", "_R_.x", "my.inbox.1"} {
		if !broker.RepliesTo(reply) {
			t.Errorf("no answer may be sent to %q", reply)
		}
	}
}

// A request before the end is answered. A request above the limit is refused at once.
func TestServeEnds(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	s := echo()
	s.AtOnce = 2
	begun, let := make(chan struct{}), make(chan struct{})
	s.Endpoints[0].Answer = func(_ context.Context, request []byte, _ int) ([]byte, error) {
		begun <- struct{}{}
		<-let
		return request, nil
	}
	stop := serving(t, b, s)
	nc := stranger(t, b)
	answers, err := nc.SubscribeSync("_INBOX.mine")
	if err != nil {
		t.Fatal(err)
	}
	for range s.AtOnce {
		if err := nc.PublishRequest("echo.say", "_INBOX.mine", []byte("asked")); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	if got := ask(t, nc, "echo.say", "one more"); got.Header.Get(micro.ErrorCodeHeader) != "503" {
		t.Errorf("the third at once: got %q, %v, want 503", got.Data, got.Header)
	}
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	close(let)
	for range s.AtOnce {
		m, err := answers.NextMsgWithContext(brokertest.Deadline(t))
		if err != nil || string(m.Data) != "asked" {
			t.Fatalf("an answer at the end: %+v, %v", m, err)
		}
	}
	<-stopped
	if _, err := nc.RequestWithContext(brokertest.Deadline(t), "echo.say", nil); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after the end: %v, want no responders", err)
	}
}

// A request that is not answered in the grace period is cancelled, and Serve returns.
func TestServeGrace(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	s := echo()
	s.Grace = 1 // a nanosecond
	begun := make(chan struct{})
	s.Endpoints[0].Answer = func(ctx context.Context, _ []byte, _ int) ([]byte, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	stop := serving(t, b, s)
	nc := stranger(t, b)
	if err := nc.PublishRequest("echo.say", "_INBOX.mine", nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	stop()
}
