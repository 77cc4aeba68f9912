package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Check is Diagnose for the role streamer, and Probe for the role of a client.
func Check(ctx context.Context, o client.BrokerOptions, role string) (Findings, error) {
	if role == "streamer" {
		return Diagnose(ctx, o), nil
	}
	if err := client.LocateClient(&o); err != nil {
		return nil, err
	}
	return Probe(ctx, o.Options, role), nil
}

// probeSession is the session whose events Probe causes.
const probeSession = "streamer-doctor"

const probeTime = 5 * time.Second

// Probe checks what a client with the credentials of o can do in a role: agent,
// frontend or subscriber, as deploy/nats/accounts.conf defines them. An agent and a
// frontend publish an interrupt of the session streamer-doctor, which closes
// nothing, and wait for its event.
func Probe(ctx context.Context, o broker.Options, role string) Findings {
	p := &probe{}
	nc, err := broker.Connect(ctx, o, p.denied)
	if err != nil {
		p.fail("connection", "name the server and the user of the role with --nats-url and --nats-creds", "%v", err)
		return p.Findings
	}
	defer nc.Close()
	p.ok("connection", "NATS %s at %s", nc.ConnectedServerVersion(), nc.ConnectedServerName())
	p.internal(nc)
	if role == "subscriber" {
		p.stream(ctx, nc)
	} else {
		p.interrupt(ctx, nc)
	}
	if role == "agent" {
		p.inputs(ctx, nc)
	}
	return p.Findings
}

type probe struct {
	Findings

	mu     sync.Mutex
	refuse []string // texts of permission errors
}

func (p *probe) denied(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = append(p.refuse, err.Error())
}

// refused returns the permission error that names a subject, or one that begins with
// it, or "".
func (p *probe) refused(subject string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.refuse {
		if strings.Contains(text, `"`+subject) {
			return text
		}
	}
	return ""
}

// internal checks that the client does not reach the internal streams, which are in
// another account.
func (p *probe) internal(nc *nats.Conn) {
	const subject, wait = "$JS.API.STREAM.INFO.KV_STREAMER_SNAPSHOT", time.Second
	reply, err := nc.Request(subject, nil, wait)
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	if err == nil && json.Unmarshal(reply.Data, &answer) == nil && answer.Error == nil {
		p.warn("isolation", "use the users of deploy/nats/accounts.conf", "this user reaches the internal streams")
		return
	}
	p.ok("isolation", "internal streams cannot be reached")
}

func (p *probe) interrupt(ctx context.Context, nc *nats.Conn) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	events := "toolcalls." + probeSession + ".>"
	sub, err := nc.SubscribeSync(events)
	if err != nil {
		p.fail("subscribe", "", "%v", err)
		return
	}
	defer sub.Unsubscribe()
	subject := "llm." + probeSession + ".interrupt"
	began := time.Now()
	_, err = nc.RequestWithContext(ctx, subject, []byte(`{"calls":["0.0"]}`))
	if text := p.refused(events); text != "" {
		p.fail("subscribe", "permit the subscription to toolcalls.> to this user", "%s", text)
	}
	switch text := p.refused(subject); {
	case text != "":
		p.fail("publish", "permit llm.*.interrupt to this user", "%s", text)
		return
	case errors.Is(err, nats.ErrNoResponders):
		p.fail("publish", "check that the account imports the inputs, as deploy/nats/imports.conf does, and that streamer has run", "no stream receives %s", subject)
		return
	case err != nil:
		p.fail("publish", "check that the user may subscribe to _INBOX.>", "no acknowledgement of %s: %v", subject, err)
		return
	}
	p.ok("publish", "an input was acknowledged after %s", time.Since(began).Round(100*time.Microsecond))
	if _, err := sub.NextMsgWithContext(ctx); err != nil {
		p.fail("events", "check that streamer serve runs; `streamer doctor` with its own credentials shows why inputs are not folded", "no event of the input came within %s", probeTime)
		return
	}
	p.ok("events", "its event came after %s", time.Since(began).Round(100*time.Microsecond))
}

// inputs publishes the inputs that only an agent may publish, as far as they change
// nothing: the progress of an unknown call, and no deltas.
func (p *probe) inputs(ctx context.Context, nc *nats.Conn) {
	for _, in := range [][2]string{{"delta", "[]"}, {"progress", `{"tool_call_id":"streamer-doctor"}`}} {
		kind, subject := in[0], "llm."+probeSession+"."+in[0]
		ctx, cancel := context.WithTimeout(ctx, probeTime)
		_, err := nc.RequestWithContext(ctx, subject, []byte(in[1]))
		cancel()
		switch text := p.refused(subject); {
		case text != "":
			p.fail("publish", "permit llm.*."+kind+" to this user, as deploy/nats/accounts.conf does for agents", "%s", text)
		case err != nil:
			p.fail("publish", "check that the account imports the inputs, as deploy/nats/imports.conf does", "no acknowledgement of %s: %v", subject, err)
		default:
			p.ok("publish", "%s was acknowledged", kind)
		}
	}
}

func (p *probe) stream(ctx context.Context, nc *nats.Conn) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	js, err := jetstream.New(nc)
	if err == nil {
		var c jetstream.Consumer
		if c, err = js.OrderedConsumer(ctx, broker.StreamEvents, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPolicy}); err == nil {
			_, err = c.FetchNoWait(1)
		}
	}
	if text := p.refused("streamer.api.CONSUMER.CREATE.TOOLCALLS"); err != nil && text != "" {
		err = errors.New(text)
	}
	if err != nil {
		p.fail("stream", "permit streamer.api.> and $JS.ACK.TOOLCALLS.> to this user, as deploy/nats/accounts.conf does; streamer must run", "a consumer of %s cannot be created: %v", broker.StreamEvents, err)
		return
	}
	p.ok("stream", "a consumer of %s can be created", broker.StreamEvents)
}
