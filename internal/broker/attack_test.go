package broker

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// target is a session with messages in every stream.
const target = "target"

// attack is a message that a client without credentials sends.
type attack struct {
	name    string
	subject string
	reply   string // subject of the answer; if "", its own inbox
	header  nats.Header
	body    string
	harms   bool // it changes something in an account that clients share with streamer
}

// attacks returns the known ways to write where only streamer may, or to read what
// clients may not. delivered is the acknowledgement subject of an event that the
// client's consumer has delivered.
func attacks(b *Broker, delivered string) []attack {
	interrupt := "llm.attack.interrupt"
	internal := internalSubjects(b)
	var list []attack
	for _, reply := range internal {
		list = append(list,
			attack{name: "acknowledgement", subject: interrupt, reply: reply, harms: true},
			attack{name: "direct publish", subject: reply, body: "forged", harms: true},
			attack{name: "answer of STREAM.INFO", subject: "$JS.API.STREAM.INFO.TOOLCALLS", reply: reply, harms: true},
			attack{name: "stored event by DIRECT.GET", subject: "$JS.API.DIRECT.GET.TOOLCALLS", reply: reply, body: `{"seq":1}`},
			attack{name: "stored event by MSG.NEXT", subject: "$JS.API.CONSUMER.MSG.NEXT.TOOLCALLS.reader", reply: reply, body: "1"},
			attack{name: "stored event by +NXT", subject: delivered, reply: reply, body: "+NXT"},
			attack{name: "answer of $SRV", subject: "$SRV.PING", reply: reply},
			attack{name: "answer of the gate of consumers", subject: "streamer.api.CONSUMER.CREATE.TOOLCALLS", reply: reply, body: "{}"},
			attack{name: "trace", subject: interrupt, header: nats.Header{"Nats-Trace-Dest": {reply}}},
			attack{name: "push consumer", subject: "$JS.API.CONSUMER.CREATE.TOOLCALLS.push", body: `{"stream_name":"TOOLCALLS","config":{"name":"push","ack_policy":"none","deliver_subject":"` + reply + `"}}`},
		)
	}
	list = append(list,
		attack{name: "acknowledgement as a request of the API", subject: interrupt, reply: "$JS.API.STREAM.PURGE.LLM"},
		attack{name: "acknowledgement as a result", subject: interrupt, reply: "llm.target.result", harms: true},
		attack{name: "live event", subject: "toolcalls.target.event.tool_call_result", body: "{}"},
		attack{name: "rollup", subject: interrupt, header: nats.Header{"Nats-Rollup": {"all"}}},
		attack{name: "TTL", subject: interrupt, header: nats.Header{"Nats-TTL": {"1s"}}},
		attack{name: "direct consumer", subject: "$JS.API.CONSUMER.CREATE.TOOLCALLS", body: `{"stream_name":"TOOLCALLS","config":{"ack_policy":"none","direct":true,"deliver_subject":"$KV.STREAMER_CHECKPOINT.0"}}`},
		attack{name: "consumer of another stream", subject: "$JS.API.CONSUMER.CREATE.TOOLCALLS.x", body: `{"stream_name":"LLM","config":{"name":"x"}}`},
	)
	for _, api := range [...]string{serverAPI, clientAPI} {
		list = append(list, apiAttacks(api, api == serverAPI)...)
	}
	return list
}

// internalSubjects returns one subject of each kind that only streamer writes.
func internalSubjects(b *Broker) []string {
	p := strconv.Itoa(b.Partition(target))
	digest := events.NewBlob([]byte("a large value")).Ref.Chunks[0]
	return []string{
		"_llm." + p + ".rules", "_llm." + p + "." + target + ".clock", "_llm." + p + "." + target + ".result",
		"_toolcalls." + target + ".event.tool_call_result",
		rootSnapshots + p + "." + target, rootCheckpoints + p, rootMembers + "worker", rootBlobs + digest,
	}
}

// apiAttacks returns requests of the JetStream API under a root.
func apiAttacks(api string, reachable bool) (list []attack) {
	for _, stream := range streamNames {
		list = append(list,
			attack{name: "purge", subject: api + "STREAM.PURGE." + stream, harms: reachable},
			attack{name: "delete", subject: api + "STREAM.DELETE." + stream, harms: reachable},
			attack{name: "delete a message", subject: api + "STREAM.MSG.DELETE." + stream, body: `{"seq":1}`},
			attack{name: "read a message", subject: api + "STREAM.MSG.GET." + stream, body: `{"seq":1}`},
			attack{name: "change", subject: api + "STREAM.UPDATE." + stream, body: `{"name":"` + stream + `","subjects":["x"]}`},
			attack{name: "back up", subject: api + "STREAM.SNAPSHOT." + stream, body: `{"deliver_subject":"_INBOX.x"}`},
		)
		if stream != StreamEvents {
			list = append(list, attack{name: "read by a consumer", subject: api + "CONSUMER.CREATE." + stream, body: `{"stream_name":"` + stream + `","config":{"ack_policy":"none"}}`})
		}
	}
	return append(list,
		attack{
			name: "republish to internal subjects", subject: api + "STREAM.CREATE.EVIL", harms: reachable,
			body: `{"name":"EVIL","subjects":["evil.*"],"storage":"memory","republish":{"src":"evil.*","dest":"_llm.{{wildcard(1)}}"}}`,
		},
		attack{name: "names of streams", subject: api + "STREAM.NAMES"},
		attack{name: "names of consumers", subject: api + "CONSUMER.NAMES.TOOLCALLS"})
}

// seed stores a message in every stream.
func seed(t *testing.T, b *Broker) {
	t.Helper()
	p := b.Partition(target)
	state, _ := b.SnapshotPub(p, target, 0, nil, []byte("{}"))
	pubs := append(b.BlobPubs(events.NewBlob([]byte("a large value"))), state, input(target, inputs.Delta, "d", []byte("{}")), event(target, 1, 0))
	pubs = append(pubs, ownInputs(p, target)...)
	for _, p := range pubs {
		must(t, b, p)
	}
	if _, err := b.WriteCheckpoint(deadline(t), p, Checkpoint{Seq: 1}, 0); err != nil {
		t.Fatal(err)
	}
	if err := b.Beat(deadline(t), "worker", time.Hour); err != nil {
		t.Fatal(err)
	}
}

// contents returns the content of the streams, one line per stream and message,
// without the inputs that clients store here. Everything that was sent before is
// stored by then.
func contents(t *testing.T, b *Broker) []string {
	t.Helper()
	var names struct {
		failure
		Streams []string `json:"streams"`
	}
	if err := b.ask(deadline(t), "$JS.API.STREAM.NAMES", nil, &names); err != nil {
		t.Fatal(err)
	}
	list := []string{fmt.Sprint(names.Streams)}
	subjects := map[string]string{
		StreamInputs: "_llm.fence.x", StreamEvents: "_toolcalls.fence.event.x", streamBlobs: rootBlobs + "fence",
		streamSnapshots: rootSnapshots + "fence.x", streamCheckpoints: rootCheckpoints + "fence", streamMembers: rootMembers + "fence",
	}
	for _, stream := range names.Streams {
		if subject := subjects[stream]; subject != "" {
			must(t, b, &Pub{Subject: subject})
		}
		list = append(list, streamContents(t, b, stream)...)
	}
	return list
}

func streamContents(t *testing.T, b *Broker, stream string) (list []string) {
	var info streamInfo
	if err := b.ask(deadline(t), apiStreamInfo+stream, nil, &info); err != nil {
		t.Fatal(err)
	}
	config, _ := json.Marshal(info.Config)
	list = append(list, fmt.Sprintf("%s %s from %d", config, info.Created, info.State.First))
	err := b.Read(deadline(t), Reading{Stream: stream, Deliver: func(batch []Message, pending uint64) error {
		for _, m := range batch {
			if !strings.Contains(m.Subject, "fence") && !strings.Contains(m.Subject, ".attack.") {
				list = append(list, fmt.Sprintf("%s %d %s %v %x", stream, m.Seq, m.Subject, m.Header, sha256.Sum256(m.Data)))
			}
		}
		if pending == 0 {
			return ErrStop
		}
		return nil
	}}, 1)
	if !errors.Is(err, ErrStop) {
		t.Fatal(err)
	}
	return list
}

// client returns a client without credentials, and the acknowledgement subject of an
// event that was delivered to it.
func client(t *testing.T, b *Broker) (nc *nats.Conn, delivered string) {
	t.Helper()
	nc = connect(t, b.URL())
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.CreateConsumer(deadline(t), "TOOLCALLS", jetstream.ConsumerConfig{Durable: "reader", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next()
	if err != nil {
		t.Fatal(err)
	}
	return nc, m.Reply()
}

// launch sends the message of an attack, and returns its answer unless that is a
// refusal.
func (a attack) launch(t *testing.T, nc *nats.Conn) (answer string) {
	t.Helper()
	m := &nats.Msg{Subject: a.subject, Reply: a.reply, Header: a.header, Data: []byte(a.body)}
	var sub *nats.Subscription
	if a.reply == "" {
		m.Reply = nc.NewInbox()
		var err error
		if sub, err = nc.SubscribeSync(m.Reply); err != nil {
			t.Fatal(err)
		}
		defer sub.Unsubscribe()
	}
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	fence(t, nc)
	if sub == nil || strings.HasPrefix(a.subject, "llm.") {
		return ""
	}
	got, err := sub.NextMsg(20 * time.Millisecond)
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) == 0 || strings.Contains(string(got.Data), `"error"`) {
		return ""
	}
	return string(got.Data)
}

// A client without credentials can store inputs and read events, and nothing else.
// Another client continues to work.
func TestAttacks(t *testing.T) {
	t.Parallel()
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	seed(t, b)
	nc, delivered := client(t, b)
	before := contents(t, b)
	if len(before) < 15 {
		t.Fatalf("only %d lines to compare", len(before))
	}
	for _, a := range attacks(b, delivered) {
		if got := a.launch(t, nc); got != "" {
			t.Errorf("%s on %s, reply %q: answered with %s", a.name, a.subject, a.reply, got)
		}
		after := contents(t, b)
		if !slices.Equal(before, after) {
			t.Errorf("%s on %s, reply %q: %s", a.name, a.subject, a.reply, difference(before, after))
			before = after
		}
	}
	must(t, b, event("honest", 1, 0))
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(deadline(t), "llm.honest.delta", []byte("{}"), jetstream.WithMsgID("honest")); err != nil {
		t.Error(err)
	}
	ordered, err := js.OrderedConsumer(deadline(t), "TOOLCALLS", jetstream.OrderedConsumerConfig{FilterSubjects: []string{"toolcalls.honest.>"}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := ordered.Next(); err != nil || m.Subject() != "toolcalls.honest.event.tool_call_args_delta" {
		t.Errorf("got %v, %v, want the event", m, err)
	}
}

// A message that a client has delivered on toolcalls.> reaches only subscribers in its
// own account, and lacks the header that identifies republished events.
func TestForgedLiveEvents(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	seed(t, b)
	nc, _ := client(t, b)
	const forged = "toolcalls.target.event.forged"
	inside, outside := subscribe(t, b.OwnURL()), subscribe(t, b.URL())
	for _, a := range []attack{
		{subject: "llm.attack.interrupt", reply: forged},
		{subject: "$JS.API.DIRECT.GET.TOOLCALLS", reply: forged, body: `{"seq":1}`},
		{subject: "$JS.API.STREAM.INFO.TOOLCALLS", reply: forged},
	} {
		t.Run(a.name+" "+a.subject, func(t *testing.T) {
			a.launch(t, nc)
			m, err := outside.NextMsg(within)
			if err != nil {
				t.Fatalf("%s: %v", a.subject, err)
			}
			if m.Subject != forged || m.Header.Get("Nats-Subject") == forged {
				t.Errorf("%s: got %s with %v, want another %s", a.subject, m.Subject, m.Header, "Nats-Subject")
			}
		})
	}
	must(t, b, event("honest", 1, 0))
	for _, sub := range []*nats.Subscription{inside, outside} {
		m, err := sub.NextMsg(within)
		if err != nil || m.Subject != "toolcalls.honest.event.tool_call_args_delta" || m.Header.Get("Nats-Subject") != m.Subject {
			t.Errorf("got %v, %v, want the honest event first", m, err)
		}
	}
}

func subscribe(t *testing.T, url string) *nats.Subscription {
	t.Helper()
	nc := connect(t, url)
	sub, err := nc.SubscribeSync("toolcalls.>")
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// The control of TestAttacks: the attacks succeed in an account that clients share
// with streamer.
func TestAttacksInOneAccount(t *testing.T) {
	t.Parallel()
	b := start(t, Options{URL: newTestServer(t).url(), Storage: "memory"}) // a server without accounts
	seed(t, b)
	nc, delivered := client(t, b)
	for _, a := range attacks(b, delivered) {
		// After the deletion of a stream there is nothing to compare.
		if !a.harms || strings.HasPrefix(a.subject, "$JS.API.STREAM.") && a.reply == "" {
			continue
		}
		before := contents(t, b)
		a.launch(t, nc)
		changed := false
		for try := 0; try < 50 && !changed; try++ { // an answer may arrive later
			changed = !slices.Equal(before, contents(t, b))
		}
		if !changed {
			t.Errorf("%s on %s, reply %q: it changes nothing", a.name, a.subject, a.reply)
		}
	}
}

// difference returns the lines that are in only one of two lists.
func difference(before, after []string) string {
	lines := map[string]string{}
	for _, s := range before {
		lines[s] = "lost " + s
	}
	for _, s := range after {
		if _, ok := lines[s]; ok {
			delete(lines, s)
		} else {
			lines[s] = "new " + s
		}
	}
	return strings.Join(slices.Sorted(maps.Values(lines)), "\n")
}

// The gate refuses, with the reason, a configuration that a client's consumer must not
// have, and forwards any other.
func TestConsumersOfClients(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	must(t, b, event("s", 1, 0))
	nc := connect(t, b.URL())
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	create := func(c jetstream.ConsumerConfig) error {
		_, err := js.CreateOrUpdateConsumer(deadline(t), "TOOLCALLS", c)
		return err
	}
	for words, c := range map[string]jetstream.ConsumerConfig{
		"":                      {Durable: "d", FilterSubjects: []string{"toolcalls.s.>", "toolcalls.t.>"}, MaxAckPending: 5000, MemoryStorage: true},
		"max_ack_pending is -1": {Durable: "a", MaxAckPending: -1},
		"max_waiting is 10001":  {Durable: "w", MaxWaiting: 10_001},
	} {
		if err := create(c); words == "" && err != nil || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("%+v: got %v, want %q", c, err, words)
		}
	}
	old, err := nc.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Subscribe("toolcalls.>", func(*nats.Msg) {}, nats.BindStream("TOOLCALLS")); err == nil || !strings.Contains(err.Error(), "push consumers") {
		t.Errorf("a push consumer: got %v, want a refusal", err)
	}
	if m, err := nc.RequestWithContext(deadline(t), "$JS.API.CONSUMER.DURABLE.CREATE.TOOLCALLS.e", []byte(`{"stream_name":"TOOLCALLS","config":{"durable_name":"e","ack_policy":"explicit"}}`)); err != nil || strings.Contains(string(m.Data), `"error"`) {
		t.Errorf("a durable as older clients create it: got %s, %v", m.Data, err)
	}
	b.clientConsumers = 2
	if err := create(jetstream.ConsumerConfig{Durable: "one-too-many"}); err == nil || !strings.Contains(err.Error(), "10026") {
		t.Errorf("one too many: got %v", err)
	}
	if err := create(jetstream.ConsumerConfig{Durable: "d", FilterSubjects: []string{"toolcalls.s.>", "toolcalls.t.>"}, MaxAckPending: 5000, MemoryStorage: true}); err != nil {
		t.Errorf("one that exists: %v", err)
	}
}

// Before Admit the server does not listen, and the address is known.
func TestAdmit(t *testing.T) {
	b, err := Open(deadline(t), Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	url := b.URL()
	if nc, err := nats.Connect(url); err == nil {
		nc.Close()
		t.Errorf("%s takes clients before Admit", url)
	}
	for range 2 {
		if err := b.Admit(); err != nil {
			t.Fatal(err)
		}
	}
	connect(t, url)
	if b.URL() != url {
		t.Errorf("the address was %s, and is %s", url, b.URL())
	}
	b.Close()
	if err := b.Admit(); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	if err := start(t, Options{}).Admit(); err != nil {
		t.Errorf("a server that only this process reaches: %v", err)
	}
}

// A request to create a consumer may have every field that the server knows.
func TestFieldsOfConsumers(t *testing.T) {
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[consumerConfig]()) {
		known[jsonName(f)] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[server.ConsumerConfig]()) {
		if !known[jsonName(f)] {
			t.Errorf("field %s of the server is not known", jsonName(f))
		}
	}
}

// jsonName returns the name of a field in JSON.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
