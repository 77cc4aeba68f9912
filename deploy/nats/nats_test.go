// Package nats_test tests the configuration files of this directory on real
// servers, with each role.
package nats_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inspect"
	streamer "streamer/internal/server"
	"streamer/test/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// within is the time limit of each step.
const within = 30 * time.Second

// TestMain sets the environment variables that the files use.
func TestMain(m *testing.M) {
	for _, name := range []string{"STREAMER", "AGENT", "FRONTEND", "SUBSCRIBER", "ROUTE"} {
		if err := os.Setenv(name+"_PASSWORD", "password-of-"+strings.ToLower(name)); err != nil {
			panic(err)
		}
	}
	testkit.AtOnce(4) // they wait for refusals
	os.Exit(m.Run())
}

// load reads a configuration file. It replaces only addresses, the storage
// directory and the sync interval.
func load(t *testing.T, file string) *server.Options {
	t.Helper()
	o := &server.Options{}
	if err := o.ProcessConfigFile(file); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	o.Host, o.Port, o.StoreDir, o.NoSigs, o.NoLog = "127.0.0.1", server.RANDOM_PORT, t.TempDir(), true, true
	o.SyncAlways = false // makes the test faster
	return o
}

// run starts a server that is shut down at the end of the test.
func run(t *testing.T, o *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// address returns the URL of a server for a user.
func address(s *server.Server, user string) string {
	return fmt.Sprintf("nats://%s:password-of-%s@%s", user, user, s.Addr())
}

// role is a client with the permissions of a user.
type role struct {
	name   string
	nc     *nats.Conn
	js     jetstream.JetStream
	denied chan error
}

// newRole connects a client as the user name.
func newRole(t *testing.T, s *server.Server, name string) *role {
	t.Helper()
	r := &role{name: name, denied: make(chan error, 1)}
	var err error
	r.nc, err = nats.Connect(address(s, name), nats.PermissionErrOnSubscribe(true),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			select {
			case r.denied <- err:
			default:
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.nc.Close)
	if r.js, err = jetstream.New(r.nc); err != nil {
		t.Fatal(err)
	}
	return r
}

// request publishes a request. It returns an error if the request is refused or
// has no answer.
func (r *role) request(subject, body string) error {
	in := make(chan *nats.Msg, 1)
	sub, err := r.nc.ChanSubscribe(r.nc.NewInbox(), in)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	if err := r.nc.PublishRequest(subject, sub.Subject, []byte(body)); err != nil {
		return err
	}
	select {
	case m := <-in:
		if len(m.Data) == 0 || strings.Contains(string(m.Data), `"error"`) {
			return fmt.Errorf("refused: %v %s", m.Header, m.Data)
		}
		return nil
	case err := <-r.denied:
		return err
	case <-time.After(within):
		return errors.New("no answer")
	}
}

// listen subscribes to a subject. It returns an error if the server refuses it.
func (r *role) listen(subject string) error {
	sub, err := r.nc.SubscribeSync(subject)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	if err := r.nc.Flush(); err != nil {
		return err
	}
	if _, err = sub.NextMsg(10 * time.Millisecond); errors.Is(err, nats.ErrPermissionViolation) {
		<-r.denied
		return err
	}
	return nil
}

// read reads the first event with a durable consumer, acknowledges it, and reads
// it again with an ordered consumer.
func (r *role) read() error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	watched := make(chan struct{})
	go func() { // a request without permission gets no answer
		defer close(watched)
		select {
		case <-r.denied:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() { cancel(); <-watched }()
	name := "reader-" + r.name
	c, err := r.js.CreateOrUpdateConsumer(ctx, "TOOLCALLS", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		return err
	}
	m, err := next(ctx, c)
	if err != nil {
		return err
	}
	if err := m.DoubleAck(ctx); err != nil {
		return err
	}
	if err := r.js.DeleteConsumer(ctx, "TOOLCALLS", name); err != nil {
		return err
	}
	ordered, err := r.js.OrderedConsumer(ctx, "TOOLCALLS", jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	_, err = next(ctx, ordered)
	return err
}

// next reads a message of a new consumer, of which another server of a cluster may not know
// yet.
func next(ctx context.Context, c jetstream.Consumer) (jetstream.Msg, error) {
	for {
		m, err := c.Next(jetstream.FetchContext(ctx))
		if !errors.Is(err, nats.ErrNoResponders) || ctx.Err() != nil {
			return m, err
		}
	}
}

// right is an operation and the roles that may do it.
type right struct {
	what  string
	try   func(*role) error
	roles string // separated by spaces
}

// rights returns the operations that every role tries.
func rights() []right {
	publish := func(subject, roles string) right {
		return right{"publish " + subject, func(r *role) error { return r.request(subject, "{}") }, roles}
	}
	listen := func(subject, roles string) right {
		return right{"subscribe to " + subject, func(r *role) error { return r.listen(subject) }, roles}
	}
	push := `{"stream_name":"TOOLCALLS","config":{"name":"push","ack_policy":"none","deliver_subject":"toolcalls.x"}}`
	return []right{
		publish("llm.s.delta", "agent"), publish("llm.s.result", "agent"), publish("llm.s.progress", "agent"),
		publish("llm.s.interrupt", "agent frontend"), publish("llm.s.end", "agent"),
		publish("llm.s.clock", ""), publish("_llm.0.rules", ""), publish("_llm.0.s.clock", ""), publish("_toolcalls.s.event.x", ""),
		publish("toolcalls.s.event.x", ""), publish("_blobs.x", ""), publish("$KV.STREAMER_SNAPSHOT.0.s", ""), publish("$KV.STREAMER_CHECKPOINT.0", ""),
		publish("$JS.API.STREAM.PURGE.LLM", ""), publish("$JS.API.STREAM.DELETE.TOOLCALLS", ""), publish("$JS.API.STREAM.INFO.LLM", ""),
		publish("$JS.API.STREAM.NAMES", ""), publish("streamer.repair", ""), publish("streamer.sessions", ""), publish("streamer.calls", ""), publish("streamer.events", ""), publish("streamer.status", ""), publish("streamer.api.STREAM.PURGE.TOOLCALLS", ""),
		publish("llm.s.delta.x", ""), publish("toolcalls.s.synthetic", ""), publish("$SRV.PING", ""),
		publish("$JS.API.STREAM.MSG.DELETE.TOOLCALLS", ""), publish("$JS.API.STREAM.MSG.GET.TOOLCALLS", ""), publish("$JS.API.STREAM.UPDATE.TOOLCALLS", ""),
		publish("$JS.API.CONSUMER.CREATE.LLM.x", ""), publish("$JS.API.CONSUMER.NAMES.TOOLCALLS", ""), publish("$JS.API.CONSUMER.MSG.NEXT.LLM.x", ""),
		publish("$JS.API.STREAM.INFO.STREAMER_BLOBS", ""), publish("$JS.API.DIRECT.GET.KV_STREAMER_SNAPSHOT", ""), publish("$JS.ACK.LLM.x.1.1.1.1.0", ""),
		publish("$JS.API.STREAM.INFO.TOOLCALLS", "agent subscriber"),
		{"get an event", func(r *role) error { return r.request("$JS.API.DIRECT.GET.TOOLCALLS", `{"seq":1}`) }, "agent subscriber"},
		{"create a push consumer", func(r *role) error { return r.request("$JS.API.CONSUMER.CREATE.TOOLCALLS.push", push) }, ""},
		{"read TOOLCALLS", (*role).read, "agent subscriber"},
		listen("toolcalls.>", "agent frontend subscriber"), listen("toolcalls.*.event.tool_call_result", "agent frontend subscriber"), listen("_blobs.>", ""), listen(">", ""), listen("_llm.>", ""), listen("llm.>", ""), listen("_INBOX_STREAMER.>", ""),
	}
}

// tryRoles checks the rights of each role of the account APP. servers are those of
// one cluster.
func tryRoles(t *testing.T, servers []*server.Server, replicas int) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	b, err := client.OpenBroker(ctx, broker.Options{URL: address(servers[0], "streamer"), Partitions: 2, Replicas: replicas, InputAge: time.Hour, EventAge: 4 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if w := b.Warnings(); len(w) != 0 {
		t.Errorf("warnings: got %q, want none", w)
	}
	e := &events.Event{Type: events.ToolCallStart, EventID: events.ID{Seq: 1}}
	if a := b.PublishWait(ctx, b.EventPub("s", e, []byte("{}"), nil, 0)); a.Err != nil {
		t.Fatal(a.Err)
	}
	own := newRole(t, servers[0], "streamer")
	before := sizes(t, own)
	for i, name := range []string{"agent", "frontend", "subscriber"} {
		r := newRole(t, servers[i%len(servers)], name)
		for _, c := range rights() {
			allowed := slices.Contains(strings.Fields(c.roles), name)
			if err := c.try(r); (err == nil) != allowed {
				t.Errorf("%s: %s: got %v, want allowed %v", name, c.what, err, allowed)
			}
		}
		if fs := inspect.Probe(ctx, broker.Options{URL: address(servers[0], name)}, name); !fs.Healthy() {
			t.Errorf("doctor --role %s: %+v", name, fs)
		}
	}
	fs := inspect.Probe(ctx, broker.Options{URL: address(servers[0], "frontend")}, "agent")
	for _, right := range []string{"streamer.api.>", "llm.*.delta", "llm.*.result", "llm.*.progress", "llm.*.end"} {
		if !slices.ContainsFunc(fs, func(f inspect.Finding) bool { return f.State == inspect.Failed && strings.Contains(f.Fix, right) }) {
			t.Errorf("doctor --role agent as frontend: got %+v, want that %s is missing", fs, right)
		}
	}
	if got := sizes(t, own); got != before {
		t.Errorf("the streams changed: got%s, want%s", got, before)
	}
	if _, last, err := b.InputBounds(ctx); last != 6 || err != nil { // five by the agent, one by the frontend
		t.Errorf("last input: got %d, %v, want 6", last, err)
	}
	live(t, b, newRole(t, servers[len(servers)-1], "frontend"))
}

// live checks that a subscriber receives new events, with the headers that the
// server adds.
func live(t *testing.T, b *client.Broker, r *role) {
	t.Helper()
	sub, err := r.nc.SubscribeSync("toolcalls.>")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for prev, n := uint64(0), 1; ; n++ { // in a cluster, a subscription reaches the other servers with a delay
		e := &events.Event{Type: events.ToolCallStart, EventID: events.ID{Seq: uint64(n)}}
		a := b.PublishWait(ctx, b.EventPub("live", e, []byte("{}"), nil, prev))
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		prev = a.Seq
		m, err := sub.NextMsg(100 * time.Millisecond)
		if errors.Is(err, nats.ErrTimeout) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Nats-Subject") != m.Subject || m.Header.Get("Nats-Sequence") == "" {
			t.Errorf("got %s with header %v, want its subject and sequence", m.Subject, m.Header)
		}
		return
	}
}

// sizes returns the bounds of every stream except the input stream.
func sizes(t *testing.T, own *role) (text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, name := range []string{"TOOLCALLS", "STREAMER_BLOBS", "KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER"} {
		s, err := own.js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf(" %s %d to %d", name, s.CachedInfo().State.FirstSeq, s.CachedInfo().State.LastSeq)
	}
	return text
}

// TestServer tests the configuration of one server.
func TestServer(t *testing.T) {
	t.Parallel()
	s := run(t, load(t, "server.conf"))
	if !s.ReadyForConnections(within) {
		t.Fatal("the server did not start")
	}
	if nc, err := nats.Connect("nats://" + s.Addr().String()); err == nil {
		nc.Close()
		t.Error("a client without credentials was accepted")
	}
	tryRoles(t, []*server.Server{s}, 1)
}

// TestServeAsClient: a process with the credentials of a client fails with one message,
// which says what doctor says, and nothing is logged beside it.
func TestServeAsClient(t *testing.T) {
	t.Parallel()
	s := run(t, load(t, "server.conf"))
	if !s.ReadyForConnections(within) {
		t.Fatal("the server did not start")
	}
	for user, want := range map[string]string{
		"agent":    "no permission to publish on $JS.API.STREAM.INFO.LLM; connect as streamer's own user, in the account of the streams",
		"frontend": "no permission to publish on $JS.API.STREAM.INFO.LLM; connect as streamer's own user, in the account of the streams",
		"unknown":  "Authorization Violation; check the user and password",
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			c := streamer.NewConfig()
			c.Broker.URL, c.HTTPListen = address(s, user), ""
			server, err := streamer.Open(t.Context(), c, zerolog.New(&log))
			if err == nil {
				server.Close()
				t.Fatalf("%s: the process started", user)
			}
			if log.Len() > 0 || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it, and the log\n%s", user, err, want, &log)
			}
			found := inspect.Diagnose(t.Context(), c.Broker)[0]
			if got := found.Text + "; " + found.Fix; got != err.Error() {
				t.Errorf("%s: doctor says\n%s\nserve says\n%s", user, got, err)
			}
		})
	}
}

// TestCluster tests the configuration of three servers.
func TestCluster(t *testing.T) {
	testkit.Campaign(t)
	var ports [3]int
	var routes []string
	for i := range ports {
		ports[i] = testkit.PortOf(t, testkit.FreePort(t))
		routes = append(routes, fmt.Sprintf("'nats-route://route:password-of-route@127.0.0.1:%d'", ports[i]))
	}
	t.Setenv("NATS_ROUTES", "["+strings.Join(routes, ", ")+"]")
	var servers []*server.Server
	for i, port := range ports {
		t.Setenv("NATS_NAME", fmt.Sprint("nats-", i+1))
		o := load(t, "cluster.conf")
		o.Cluster.Host, o.Cluster.Port = "127.0.0.1", port
		servers = append(servers, run(t, o))
	}
	for _, s := range servers {
		if !s.ReadyForConnections(within) {
			t.Fatal("a server did not start")
		}
	}
	tryRoles(t, servers, 3)
}
