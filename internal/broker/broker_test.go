package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/natsserver"
	"streamer/test/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// within is how long a test waits for an expected result, as brokertest.Within.
const within = 5 * time.Minute

// embed returns the option of an embedded server on a directory, as brokertest.Embed.
func embed(dir, listen string) func(func(string, error)) (Embedded, error) {
	return func(notice func(string, error)) (Embedded, error) {
		return natsserver.Start(natsserver.Config{DataDir: dir, Listen: listen}, notice)
	}
}

// start opens a broker with an embedded server of its own.
func start(t testing.TB, opts Options) *Broker {
	t.Helper()
	if opts.URL == "" && opts.Embed == nil {
		opts.Embed = embed(t.TempDir(), "")
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	b, err := Open(ctx, opts)
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// testServer is a NATS server that a test can stop and start.
type testServer struct {
	t    testing.TB
	opts *server.Options
	*server.Server
}

func newTestServer(t testing.TB) *testServer {
	s := &testServer{t: t, opts: &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: testkit.PortOf(t, testkit.FreePort(t)), NoSigs: true, NoLog: true, MaxPayload: 1 << 20,
		JetStream: true, StoreDir: t.TempDir(), SyncInterval: time.Second, JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 4 << 30,
	}}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *testServer) start() {
	s.t.Helper()
	var err error
	if s.Server, err = server.NewServer(s.opts.Clone()); err != nil {
		s.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(within) {
		s.t.Fatal("the server did not start")
	}
}

func (s *testServer) stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

func (s *testServer) url() string { return "nats://127.0.0.1:" + strconv.Itoa(s.opts.Port) }

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	return ctx
}

// must publishes p and returns its sequence.
func must(t testing.TB, b *Broker, p *Pub) uint64 {
	t.Helper()
	a := b.PublishWait(deadline(t), p)
	if a.Err != nil {
		t.Fatalf("publish on %s: %v", p.Subject, a.Err)
	}
	return a.Seq
}

func TestSubjects(t *testing.T) {
	b := start(t, Options{})
	p := b.Partition("s-1")
	put := []struct{ pub, stored string }{
		{"llm.s-1.delta", fmt.Sprintf("_llm.%d.s-1.delta", p)},
		{"llm.s-1.result", fmt.Sprintf("_llm.%d.s-1.result", p)},
		{"llm.s-1.progress", fmt.Sprintf("_llm.%d.s-1.progress", p)},
		{"llm.s-1.interrupt", fmt.Sprintf("_llm.%d.s-1.interrupt", p)},
		{"llm.s-1.end", fmt.Sprintf("_llm.%d.s-1.end", p)},
		{"_llm.3.rules", "_llm.3.rules"},
		{"_llm.3.s-1.clock", "_llm.3.s-1.clock"},
		{"llm.a=2Eb.delta", fmt.Sprintf("_llm.%d.a=2Eb.delta", b.Partition("a=2Eb"))},
	}
	for _, c := range put {
		t.Run(c.pub, func(t *testing.T) {
			seq := must(t, b, &Pub{Subject: c.pub, Data: []byte("x")})
			m, err := b.message(deadline(t), StreamInputs, map[string]any{"seq": seq})
			if err != nil || m == nil || m.Subject != c.stored {
				t.Errorf("published %s: got %+v, %v, want subject %s", c.pub, m, err, c.stored)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if a := b.PublishWait(ctx, &Pub{Subject: "llm.s-1.clock"}); a.Err == nil {
		t.Errorf("llm.s-1.clock was stored as %d: only streamer may write clock inputs", a.Seq)
	}
}

func TestPartitionIsTheServers(t *testing.T) {
	b := start(t, Options{Partitions: 13})
	acks := make(chan Ack, 1000)
	for i := range 1000 {
		token := strings.Repeat("=E4_a-", i%9) + strconv.Itoa(i*7919)
		b.Publish(&Pub{Subject: "llm." + token + ".end", Key: token}, acks)
	}
	tokens := map[uint64]string{}
	for range 1000 {
		a := <-acks
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		tokens[a.Seq] = a.Pub.Key.(string)
	}
	seen := 0
	err := b.Read(deadline(t), Reading{Stream: StreamInputs, Deliver: func(batch []Message, _ uint64) error {
		for _, m := range batch {
			seen++
			want := fmt.Sprintf("_llm.%d.%s.end", b.Partition(tokens[m.Seq]), tokens[m.Seq])
			if m.Subject != want {
				t.Errorf("token %s: the server stored %s, want %s", tokens[m.Seq], m.Subject, want)
			}
		}
		if seen == 1000 {
			return ErrStop
		}
		return nil
	}}, 1)
	if !errors.Is(err, ErrStop) {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	b := start(t, Options{Embed: embed(dir, ""), Partitions: 4, InputAge: time.Hour, EventAge: 3 * time.Hour})
	b.Close()
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"partitions", Options{Partitions: 8}, "created with 4 partitions, 8 are configured"},
		{"input retention", Options{InputAge: 2 * time.Hour}, "its retention is 1h0m0s, not 2h0m0s"},
		{"storage", Options{Storage: "memory"}, "its storage is File, not Memory"},
		{"unknown storage", Options{Storage: "tape"}, `storage "tape" is neither file nor memory`},
		{"snapshots outlive their blobs", Options{SnapshotAge: 1000 * time.Hour}, "STREAMER_BLOBS keeps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.opts.Embed = embed(dir, "")
			got, err := Open(deadline(t), c.opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
			}
			if got != nil {
				got.Close()
			}
		})
	}
	adopted, err := Open(deadline(t), Options{Embed: embed(dir, "")})
	if err != nil {
		t.Fatal(err)
	}
	defer adopted.Close()
	if adopted.Partitions() != 4 || adopted.snapshotAge != 5*time.Hour {
		t.Errorf("adopted %d partitions, snapshot age %v, want 4, 5h", adopted.Partitions(), adopted.snapshotAge)
	}
	if _, err := Open(deadline(t), Options{Embed: embed(t.TempDir(), ""), InputAge: 12 * time.Hour, EventAge: 12 * time.Hour}); err == nil || !strings.Contains(err.Error(), "must be kept at least 1h0m0s longer") {
		t.Errorf("equal retentions: got %v", err)
	}
}

// Events belong to one input stream. A start without it is refused and creates no other
// in its place. A start with another one is refused as well.
func TestAnotherInputStreamIsRefused(t *testing.T) {
	missing, another := t.TempDir(), t.TempDir()
	for _, dir := range []string{missing, another} {
		b := start(t, Options{Embed: embed(dir, "")})
		if _, err := b.nc.Request("$JS.API.STREAM.DELETE."+StreamInputs, nil, within); err != nil {
			t.Fatal(err)
		}
		if dir == another {
			if _, err := b.makeInputs(deadline(t)); err != nil {
				t.Fatal(err)
			}
		}
		b.Close()
	}
	for _, c := range []struct{ dir, want string }{
		{missing, "stream LLM is missing in data directory " + missing},
		{missing, "stream LLM is missing in data directory " + missing}, // none was created
		{another, "event ids would mean other inputs"},
	} {
		_, err := Open(deadline(t), Options{Embed: embed(c.dir, "")})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "restore stream LLM") {
			t.Errorf("got %v, want %q and what to do", err, c.want)
		}
	}
}

// Several processes can start on an empty server at the same time.
func TestManyStartAtOnce(t *testing.T) {
	s := newTestServer(t)
	var started sync.WaitGroup
	for range 5 {
		started.Go(func() {
			b, err := Open(deadline(t), Options{URL: s.url(), Partitions: 3})
			if err != nil {
				t.Error(err)
				return
			}
			b.Close()
		})
	}
	started.Wait()
}

// Only the server may publish on toolcalls.>. A client without credentials reaches only
// the imported subjects of the streams' account, and a trusted agent publishes only
// inputs.
func TestForbiddenSubject(t *testing.T) {
	t.Parallel()
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	own, err := Open(deadline(t), Options{URL: b.OwnURL(), Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	client, agent := connect(t, b.URL()), connect(t, b.AgentURL())
	for _, c := range []struct {
		subject                 string
		byOwn, byAgent, byOther bool
	}{
		{"llm.s.delta", true, true, true},
		{"toolcalls.s.event.x", false, false, false},
		{"_toolcalls.s.event.x", true, false, false},
		{"_llm.0.s.clock", true, false, false},
		{rootBlobs + "x", true, false, false},
		{rootSnapshots + "0.s", true, false, false},
		{rootCheckpoints + "0", true, false, false},
		{rootMembers + "x", true, false, false},
	} {
		t.Run(c.subject, func(t *testing.T) {
			for name, b := range map[string]*Broker{"the process": b, "its URL": own} {
				if a := b.PublishWait(deadline(t), &Pub{Subject: c.subject}); c.byOwn && a.Err != nil || !c.byOwn && !errors.Is(a.Err, ErrRefused) {
					t.Errorf("%s on %s: got %v, want allowed %v", name, c.subject, a.Err, c.byOwn)
				}
			}
			if got := acknowledged(t, agent, c.subject); got != c.byAgent {
				t.Errorf("a trusted agent on %s: stored %v, want %v", c.subject, got, c.byAgent)
			}
			if got := acknowledged(t, client, c.subject); got != c.byOther {
				t.Errorf("a client on %s: stored %v, want %v", c.subject, got, c.byOther)
			}
		})
	}
}

// connect connects to a URL until the test ends.
func connect(t testing.TB, url string, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// acknowledged publishes, and reports whether a stream has stored the message.
// A publish that is not allowed has no answer: the request after it, which has
// one, shows that the server has read it.
func acknowledged(t testing.TB, nc *nats.Conn, subject string) bool {
	t.Helper()
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	if err := nc.PublishRequest(subject, sub.Subject, []byte("x")); err != nil {
		t.Fatal(err)
	}
	fence(t, nc)
	m, err := sub.NextMsg(100 * time.Millisecond)
	return err == nil && strings.Contains(string(m.Data), `"seq"`)
}

// fence waits until the messages that were published before are stored.
func fence(t testing.TB, nc *nats.Conn) {
	t.Helper()
	if _, err := nc.RequestWithContext(deadline(t), "llm.fence.end", nil); err != nil {
		t.Fatal(err)
	}
}

// A missing permission is an error at once.
func TestMissingPermission(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a request's time-out")
	}
	s := newTestServer(t)
	s.stop()
	s.opts.NoAuthUser, s.opts.Users = "local", []*server.User{{Username: "local", Permissions: &server.Permissions{
		Publish: &server.SubjectPermission{Deny: []string{"$JS.API.STREAM.CREATE.>"}},
	}}}
	s.start()
	_, err := Open(deadline(t), Options{URL: s.url()})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no permission to publish on $JS.API.STREAM.CREATE.LLM") {
		t.Errorf("got %v", err)
	}
}

// The window of duplicates is not longer than the retention of inputs.
func TestShortRetention(t *testing.T) {
	b := start(t, Options{InputAge: time.Minute})
	info, err := b.stream(deadline(t), StreamInputs)
	if err != nil || info.Config.Duplicates != time.Minute {
		t.Errorf("got %v and a window of %v, want 1m", err, info.Config.Duplicates)
	}
}

func TestTooLarge(t *testing.T) {
	b := start(t, Options{})
	a := b.PublishWait(deadline(t), &Pub{Subject: "llm.s.delta", Data: make([]byte, b.MaxPayload()+1)})
	if !errors.Is(a.Err, ErrTooLarge) {
		t.Fatalf("got %v, want ErrTooLarge", a.Err)
	}
}

func TestUnreachable(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Options{URL: "nats://me:secret@127.0.0.1:1"})
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "secret") {
		t.Fatalf("got %v, want a deadline, and no password", err)
	}
}

// Processes that start at the same time can find a stream that did not exist when they
// looked first. They adopt it, or report the difference.
func TestStartTogether(t *testing.T) {
	t.Parallel()
	for range 10 {
		s := newTestServer(t)
		var starts sync.WaitGroup
		for _, partitions := range []int{0, 4, 0, 4} {
			starts.Go(func() {
				b, err := Open(deadline(t), Options{URL: s.url(), Partitions: partitions})
				if err == nil {
					b.Close()
				} else if partitions == 0 || !strings.Contains(err.Error(), "was created with 16 partitions, 4 are configured") {
					t.Errorf("%d partitions configured: %v", partitions, err)
				}
			})
		}
		starts.Wait()
		s.stop()
	}
}

// With Existing, Open fails at once where no streamer has run, and creates no streams.
func TestExisting(t *testing.T) {
	if _, err := Open(deadline(t), Options{URL: "nats://127.0.0.1:1", Existing: true}); err == nil || !strings.Contains(err.Error(), "nothing answers on nats://127.0.0.1:1") {
		t.Errorf("no server: got %v", err)
	}
	s := newTestServer(t)
	if _, err := Open(deadline(t), Options{URL: s.url(), Existing: true}); err == nil || !strings.Contains(err.Error(), "no stream LLM on "+s.url()) {
		t.Errorf("no streams: got %v", err)
	}
	b, err := Open(deadline(t), Options{URL: s.url(), Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tool, err := Open(deadline(t), Options{URL: s.url(), Existing: true})
	if err != nil || tool.Partitions() != 3 {
		t.Fatalf("got %v, want a broker of 3 partitions", err)
	}
	tool.Close()
}

// A start that cannot succeed fails at once.
func TestHopeless(t *testing.T) {
	s := newTestServer(t)
	if _, err := Open(deadline(t), Options{URL: s.url(), Replicas: 3}); err == nil || !strings.Contains(err.Error(), "replicas > 1 not supported in non-clustered mode") {
		t.Errorf("replicas on one server: got %v", err)
	}
	s.stop()
	s.opts.JetStream = false
	s.start()
	if _, err := Open(deadline(t), Options{URL: s.url()}); err == nil || !strings.Contains(err.Error(), "without JetStream") {
		t.Errorf("no JetStream: got %v", err)
	}
}

func TestRedacted(t *testing.T) {
	for in, want := range map[string]string{
		"nats://a:4222":                   "nats://a:4222",
		"nats://u:p@a:4222,nats://t@b":    "nats://redacted@a:4222,nats://redacted@b",
		"u:p%zz@a:4222":                   "redacted@a:4222",
		"tls://connect.example.com:4222 ": "tls://connect.example.com:4222 ",
		"nats://u:sec,ret@a:4222":         "redacted,redacted@a:4222",
	} {
		t.Run(in, func(t *testing.T) {
			if got := redacted(in); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		})
	}
}

// The library quotes a URL that it cannot parse, with the password.
func TestUnreadableURL(t *testing.T) {
	for _, in := range []string{"nats://u:sec%zzret@a:4222", "nats://u:sec/ret@a:4222", "nats://u:sec ret@a", "nats://b,nats://u:sec,ret@a:4222"} {
		t.Run(in, func(t *testing.T) {
			_, err := Open(deadline(t), Options{URL: in})
			if err == nil || !strings.Contains(err.Error(), "cannot be read") || strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret@") {
				t.Errorf("%s: got %v, want that it cannot be read, and nothing of the password", in, err)
			}
		})
	}
}

// A URL with a scheme that the library does not support is an error at once.
func TestUnknownScheme(t *testing.T) {
	_, err := Open(deadline(t), Options{URL: "nats://a:4222,http://u:secret@b:4222"})
	if err == nil || !strings.Contains(err.Error(), "NATS URL 2 of") || !strings.Contains(err.Error(), "begins with http://, not with nats://") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want that http:// is refused, and no password", err)
	}
}

func TestCloseAnswersWhatIsInFlight(t *testing.T) {
	s := newTestServer(t)
	b := start(t, Options{URL: s.url()})
	s.stop()
	acks := make(chan Ack, 10)
	for i := range 10 {
		b.Publish(input("s", inputs.End, strconv.Itoa(i), nil), acks)
	}
	b.Close()
	for range 10 {
		if a := <-acks; !errors.Is(a.Err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", a.Err)
		}
	}
	if a := b.PublishWait(deadline(t), &Pub{Subject: "llm.s.end"}); !errors.Is(a.Err, ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", a.Err)
	}
	if _, err := b.Bounds(deadline(t), StreamInputs); !errors.Is(err, ErrClosed) {
		t.Errorf("reading after Close: got %v, want ErrClosed", err)
	}
	if _, err := b.Subscribe("toolcalls.>", func(*nats.Msg) {}, func() {}); err == nil {
		t.Error("a subscription after Close: got no error")
	}
	s.start()
}

// TestLostAtStart: a connection that is lost while a broker starts comes back, and the
// version of the server is read then. Meanwhile errors say that there is none.
func TestLostAtStart(t *testing.T) {
	s := newTestServer(t)
	b := start(t, Options{URL: s.url()})
	s.stop()
	testkit.UntilTrue(t, "disconnected", func() bool { return !b.Connected() })
	done := make(chan error, 1)
	go func() { done <- b.checkServer(deadline(t)) }()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := b.checkServer(ended); err == nil || !strings.Contains(err.Error(), "not connected to NATS") {
		t.Errorf("without a server: got %v", err)
	}
	for name, err := range map[string]error{
		"publish": b.PublishWait(ended, input("s", inputs.Delta, "1", nil)).Err,
		"request": b.askOnce(t.Context(), apiAccountInfo, nil, &failure{}),
	} {
		if !errors.Is(err, errNotConnected) || errors.Is(err, nats.ErrReconnectBufExceeded) {
			t.Errorf("%s without a server: got %v", name, err)
		}
	}
	s.start()
	if err := <-done; err != nil {
		t.Errorf("got %v, want the server to be accepted when it is back", err)
	}
	b.nc.Close()
	if err := b.checkServer(deadline(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed connection: got %v, want %v", err, ErrClosed)
	}
}
