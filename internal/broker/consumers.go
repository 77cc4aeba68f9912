package broker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// clientAPI is the root of the subjects on which clients of another account create
// consumers of the event stream. It replaces that of the JetStream API.
const (
	clientAPI = "streamer.api."
	serverAPI = "$JS.API."
)

// Limits of the consumers that clients create.
const (
	clientConsumers  = 1000    // of the event stream, including those of streamer
	clientAckPending = 100_000 // of one consumer
	clientWaiting    = 10_000  // pull requests of one consumer
	consumersAtOnce  = 16      // requests in progress
)

// Error codes of refusals, from the server's errors.json.
const (
	codeBadRequest       = 10003
	codeTooManyConsumers = 10026
	codeUnavailable      = 10008
)

// createConsumer is a request to create a consumer. An unknown action is left to the
// server, which refuses it.
type createConsumer struct {
	Stream   string         `json:"stream_name"`
	Config   consumerConfig `json:"config"`
	Action   string         `json:"action"`
	Pedantic bool           `json:"pedantic"`
}

// consumerConfig has all fields that the server knows. The library has no use for some.
type consumerConfig struct {
	jetstream.ConsumerConfig
	Direct   bool `json:"direct"`
	Sourcing bool `json:"sourcing"`
}

// consumerGate answers requests to create consumers of the event stream. Clients of
// another account cannot use the API itself, which would let them have events
// delivered to any subject of this account.
type consumerGate struct {
	b     *Broker
	slots chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// serveConsumers answers requests until the connection is closed. One of all
// processes on the same streams answers each request.
func (b *Broker) serveConsumers() error {
	g := &consumerGate{b: b, slots: make(chan struct{}, consumersAtOnce)}
	b.consumers = g
	for _, subject := range [...]string{"CONSUMER.CREATE." + StreamEvents, "CONSUMER.CREATE." + StreamEvents + ".>", "CONSUMER.DURABLE.CREATE." + StreamEvents + ".*"} {
		if _, err := b.nc.QueueSubscribe(clientAPI+subject, "streamer", g.take); err != nil {
			return fmt.Errorf("broker: subscribing to %s: %w", clientAPI+subject, err)
		}
	}
	return nil
}

// take starts to answer a request. It blocks while too many are in progress.
func (g *consumerGate) take(m *nats.Msg) {
	if !RepliesTo(m.Reply) {
		return
	}
	g.slots <- struct{}{}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.running.Go(func() {
		defer func() { <-g.slots }()
		g.answer(m)
	})
}

func (g *consumerGate) answer(m *nats.Msg) {
	ctx, cancel := context.WithTimeout(context.Background(), AskTimeout)
	defer cancel()
	reply, err := g.create(ctx, m)
	if err != nil {
		refused := (*apiError)(nil)
		if !errors.As(err, &refused) {
			refused = &apiError{Code: 503, ErrCode: codeUnavailable, Description: "streamer: no answer from JetStream: try again"}
		}
		reply, _ = json.Marshal(map[string]any{ // cannot fail
			"type":  "io.nats.jetstream.api.v1.consumer_create_response",
			"error": refused,
		})
	}
	if err := g.b.nc.Publish(m.Reply, reply); err != nil && !g.b.nc.IsClosed() {
		g.b.Notice("an answer to a client that creates a consumer was not sent", err)
	}
}

func (g *consumerGate) create(ctx context.Context, m *nats.Msg) ([]byte, error) {
	var request createConsumer
	d := json.NewDecoder(bytes.NewReader(m.Data))
	d.DisallowUnknownFields()
	if err := d.Decode(&request); err != nil {
		return nil, refuseConsumer("the request cannot be read: %v", err)
	}
	if err := checkConsumer(&request.Config); err != nil {
		return nil, err
	}
	if err := g.room(ctx, &request); err != nil {
		return nil, err
	}
	reply, err := g.b.nc.RequestWithContext(ctx, serverAPI+strings.TrimPrefix(m.Subject, clientAPI), m.Data)
	if err != nil {
		return nil, err
	}
	return reply.Data, nil
}

func checkConsumer(c *consumerConfig) error {
	switch {
	case c.DeliverSubject != "" || c.DeliverGroup != "":
		return refuseConsumer("push consumers (deliver_subject %q) are not available in this account: create a pull consumer", c.DeliverSubject)
	case c.Direct || c.Sourcing:
		return refuseConsumer("consumers of other streams (direct, sourcing) are not available in this account: create a pull consumer")
	case c.MaxAckPending < 0 || c.MaxAckPending > clientAckPending:
		return refuseConsumer("max_ack_pending is %d: 0 to %d are possible in this account", c.MaxAckPending, clientAckPending)
	case c.MaxWaiting < 0 || c.MaxWaiting > clientWaiting:
		return refuseConsumer("max_waiting is %d: 0 to %d are possible in this account", c.MaxWaiting, clientWaiting)
	}
	return nil
}

// room refuses a consumer above the limit. An existing consumer may be created again.
func (g *consumerGate) room(ctx context.Context, request *createConsumer) error {
	var info streamInfo
	err := g.b.askOnce(ctx, apiStreamInfo+StreamEvents, nil, &info)
	if err != nil || info.State.Consumers < g.b.clientConsumers {
		return err
	}
	name := cmp.Or(request.Config.Name, request.Config.Durable)
	if name != "" && publishable(name) && !strings.Contains(name, ".") {
		if err := g.b.askOnce(ctx, apiConsumerInfo+StreamEvents+"."+name, nil, &failure{}); err == nil {
			return nil
		}
	}
	return &apiError{Code: 400, ErrCode: codeTooManyConsumers, Description: fmt.Sprintf(
		"streamer: stream %s has %d consumers, and clients may create no more: delete those that are not used", StreamEvents, info.State.Consumers)}
}

func refuseConsumer(format string, args ...any) error {
	return &apiError{Code: 400, ErrCode: codeBadRequest, Description: "streamer: " + fmt.Sprintf(format, args...)}
}

// close waits until no request is in progress. The connection is closed, so that none
// takes long.
func (g *consumerGate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
