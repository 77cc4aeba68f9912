// Package local runs servers of streamer in the process of a test.
package local

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/lifecycle"
	"streamer/internal/server"

	"github.com/rs/zerolog"
)

// Config returns the configuration of a server on a data directory and free ports, with
// one partition and early snapshots and checkpoints. The result timeout of tools named slow_* is 1 s.
func Config(dir string) server.Config {
	c := server.NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.Broker.Partitions = dir, "127.0.0.1:0", 1
	c.HTTPListen = "127.0.0.1:0"
	c.Worker.SnapshotEvery, c.Worker.DurableAfter = 100*time.Millisecond, 100*time.Millisecond
	c.Rules.Base.Tools = []lifecycle.ToolRule{{Pattern: "slow_*", ResultTimeout: 1000}}
	return c
}

// Serve runs a server until the test ends or stop is called. It returns when the server
// accepts inputs.
func Serve(t *testing.T, c server.Config) (s *server.Server, stop func()) {
	t.Helper()
	s, err := server.Open(brokertest.Deadline(t), c, zerolog.New(t.Output()).Level(zerolog.ErrorLevel))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var failed error
	ended := make(chan struct{})
	go func() { defer close(ended); failed = s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(brokertest.Within):
			t.Error("serve: the server does not end")
			return
		}
		if failed != nil {
			t.Error("serve: ", failed)
		}
		s.Close()
	})
	t.Cleanup(stop)
	select {
	case <-s.Opened():
	case <-ended:
		t.Fatal("serve: the server ended before it accepted inputs")
	case <-time.After(brokertest.Within):
		t.Fatal("serve: the server does not accept inputs")
	}
	return s, stop
}

// Unread lists the partitions whose checkpoint is not after the last input.
func Unread(ctx context.Context, b *client.Broker) (behind []string, err error) {
	_, last, err := b.InputBounds(ctx)
	if err != nil {
		return nil, err
	}
	for p := range b.Partitions() {
		m, _, err := b.LoadCheckpoint(ctx, p)
		if err != nil {
			return nil, err
		}
		if m.Seq <= last {
			behind = append(behind, fmt.Sprintf("the checkpoint of partition %d is at %d of %d", p, m.Seq, last))
		}
	}
	return behind, nil
}
