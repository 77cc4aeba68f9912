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
	"streamer/internal/inputs"

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

const probeTime = 5 * time.Second

// Probe checks what a client with the credentials of o can do in a role: agent,
// frontend or subscriber, as deploy/nats/accounts.conf defines them. It stores nothing.
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
	p.subscribe(nc)
	if role != "frontend" {
		p.stream(ctx, nc)
	}
	kinds := map[string][]inputs.Kind{
		"agent":    {inputs.Delta, inputs.Result, inputs.Progress, inputs.Interrupt, inputs.Answer, inputs.Resume, inputs.End},
		"frontend": {inputs.Interrupt, inputs.Answer, inputs.Resume},
	}
	for _, kind := range kinds[role] {
		p.publish(ctx, nc, kind)
	}
	return p.Findings
}

type probe struct {
	Findings

	mu     sync.Mutex
	refuse []string // texts of permission errors
	cancel func()   // ends the request under way, which a permission error does not
}

func (p *probe) denied(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = append(p.refuse, err.Error())
	if p.cancel != nil {
		p.cancel()
	}
}

// within returns the context of a request, which ends with a permission error.
func (p *probe) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel = cancel
	return ctx, cancel
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

func (p *probe) subscribe(nc *nats.Conn) {
	const subject = "toolcalls.streamer-doctor.>"
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		defer sub.Unsubscribe()
		err = nc.FlushTimeout(probeTime)
	}
	if text := p.refused(subject); text != "" {
		err = errors.New(text)
	}
	if err != nil {
		p.fail("subscribe", "permit the subscription to toolcalls.> to this user", "%v", err)
		return
	}
	p.ok("subscribe", "events can be received")
}

// publish publishes an input that names another stream as the one that it expects. The
// stream of the inputs refuses it, which shows that it was reached.
func (p *probe) publish(ctx context.Context, nc *nats.Conn, kind inputs.Kind) {
	ctx, cancel := p.within(ctx)
	defer cancel()
	m := nats.NewMsg("llm.streamer-doctor." + string(kind))
	m.Header.Set(jetstream.ExpectedStreamHeader, "streamer-doctor")
	began := time.Now()
	reply, err := nc.RequestMsgWithContext(ctx, m)
	var answer struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err == nil {
		err = json.Unmarshal(reply.Data, &answer)
	}
	switch text := p.refused(m.Subject); {
	case text != "":
		p.fail("publish", "permit llm.*."+string(kind)+" to this user, as deploy/nats/accounts.conf does", "%s", text)
	case errors.Is(err, nats.ErrNoResponders):
		p.fail("publish", "check that the account imports the inputs, as deploy/nats/imports.conf does, and that streamer has run", "no stream receives %s", m.Subject)
	case err != nil:
		p.fail("publish", "check that the user may subscribe to _INBOX.>", "no acknowledgement of %s: %v", m.Subject, err)
	case answer.Error == nil || answer.Error.ErrorCode != otherStream:
		p.fail("publish", "look at the log of the NATS server", "%s: unexpected answer %s", m.Subject, reply.Data)
	default:
		p.ok("publish", "%s reaches its stream, after %s", kind, time.Since(began).Round(100*time.Microsecond))
	}
}

// otherStream is the code of the error "expected stream does not match".
const otherStream jetstream.ErrorCode = 10060

func (p *probe) stream(ctx context.Context, nc *nats.Conn) {
	ctx, cancel := p.within(ctx)
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
