package inputlog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
)

// A restart of the server is counted, and nothing in flight is lost.
func TestCountsOfARestart(t *testing.T) {
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL(), Partitions: 1})
	if c := b.Counts(); c != (broker.Counts{}) {
		t.Errorf("at the start: got %+v, want nothing", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	read, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.Inputs(ctx, 0, 1, func(batch []inputs.Input, _ uint64, _ bool) error {
			for range batch {
				read <- struct{}{}
			}
			return nil
		})
	}()
	brokertest.Must(t, b.Broker, b.InputPub("s", inputs.End, "1", nil, nil))
	<-read
	s.Stop()
	for b.Connected() {
		if err := b.Pause(brokertest.Deadline(t), 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Ready(brokertest.Deadline(t)); err == nil || !strings.Contains(err.Error(), "not connected to NATS") {
		t.Errorf("ready without a server: got %v", err)
	}
	acks := make(chan broker.Ack, 1)
	b.Publish(b.InputPub("s", inputs.End, "2", nil, nil), acks)
	s.Start()
	if a := <-acks; a.Err != nil {
		t.Fatal(a.Err)
	}
	<-read
	if c := b.Counts(); c.Disconnected != 1 || c.Reconnected != 1 || c.Resent == 0 || c.Remade == 0 || c.Denied != 0 {
		t.Errorf("after a restart: got %+v, want one disconnection, one reconnection, publishes resent, consumers replaced", c)
	}
	cancel()
	<-ended
}

// A deleted consumer is replaced at the same position.
func TestDeletedConsumer(t *testing.T) {
	b := start(t, broker.Options{Partitions: 1})
	fill(t, b, 1, 1, nil)
	nc := brokertest.Connect(t, b.Broker)
	n := 0
	err := b.Inputs(brokertest.Deadline(t), 0, 1, func(batch []inputs.Input, next uint64, _ bool) error {
		if n += len(batch); n == 2 {
			return errEnough
		}
		if len(batch) == 1 {
			deleteConsumers(t, nc)
			b.Publish(b.InputPub("s", inputs.End, "more", nil, nil), make(chan broker.Ack, 1))
		}
		return nil
	})
	if !errors.Is(err, errEnough) || b.Counts().Remade == 0 {
		t.Errorf("got %v after %d inputs, counts %+v, want 2 and a consumer replaced", err, n, b.Counts())
	}
}
