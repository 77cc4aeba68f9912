package app

import (
	"context"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/broker/inputlog"
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

// OpenBroker opens a broker and its logs, as broker.Open does.
func OpenBroker(ctx context.Context, o broker.Options) (*Broker, error) {
	b, err := broker.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Broker{b, inputlog.New(b), eventlog.New(b)}, nil
}
