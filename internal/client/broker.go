package client

import (
	"context"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/broker/inputlog"
	"streamer/internal/natsserver"
)

type (
	inputLog = inputlog.Log
	eventLog = eventlog.Log
)

// Broker is a broker with its input log and its event log.
type Broker struct {
	*broker.Broker
	*inputLog
	*eventLog
}

// BrokerOptions name a NATS server and configure its streams. If no URL is set, it is the
// embedded server with this configuration.
type BrokerOptions struct {
	broker.Options
	natsserver.Config
}

// Embedding returns the options of a broker that runs the embedded server where it is
// the one of o.
func (o *BrokerOptions) Embedding() broker.Options {
	options, c := o.Options, o.Config
	options.Embed = func(notice func(string, error)) (broker.Embedded, error) { return natsserver.Start(c, notice) }
	return options
}

// OpenBroker opens a broker and its logs, as broker.Open does.
func OpenBroker(ctx context.Context, o broker.Options) (*Broker, error) {
	b, err := broker.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Broker{b, inputlog.New(b), eventlog.New(b)}, nil
}
