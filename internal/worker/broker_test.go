package worker

import (
	"context"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/broker/inputlog"
)

type (
	inputsOf = inputlog.Log
	eventsOf = eventlog.Log
)

// testBroker is a broker with its input log and its event log.
type testBroker struct {
	*broker.Broker
	*inputsOf
	*eventsOf
}

// openBroker opens a broker and its logs.
func openBroker(ctx context.Context, o broker.Options) (*testBroker, error) {
	b, err := broker.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &testBroker{b, inputlog.New(b), eventlog.New(b)}, nil
}
