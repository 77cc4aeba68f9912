package worker

import (
	"context"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/broker/eventlog"
	"streamer/internal/broker/inputlog"
	"streamer/internal/natsserver"
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

// listening returns the option of an embedded server that other connections can reach.
func listening(t *testing.T) func(func(string, error)) (broker.Embedded, error) {
	return brokertest.Embed(natsserver.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
}

// openBroker opens a broker and its logs.
func openBroker(ctx context.Context, o broker.Options) (*testBroker, error) {
	b, err := broker.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &testBroker{b, inputlog.New(b), eventlog.New(b)}, nil
}
