package operate

import (
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/client"
	"streamer/internal/server"

	"github.com/rs/zerolog"
)

// TestRollingRestart: two processes are replaced one after the other, twice, while
// calls are published. Every call gets its result once and in order.
func TestRollingRestart(t *testing.T) {
	url := brokertest.NewServer(t).URL()
	stops := []func(){serve(t, config(url, 0)), serve(t, config(url, 0))}
	b := dial(t, client.BrokerOptions{Options: broker.Options{URL: url}})
	l := start(t, b)
	for range 2 {
		for i, stop := range stops {
			l.await(t, 2)
			stop()
			l.await(t, 1) // the other process carries all partitions
			stops[i] = serve(t, config(url, 0))
		}
	}
	l.await(t, 2)
	l.end()
	right(t, b, l.stored.Load())
}

// TestPartitions: a process with another number of partitions than the streams have
// is refused. After the streams are deleted, it starts with new logs.
func TestPartitions(t *testing.T) {
	remote := brokertest.NewServer(t)
	stop := serve(t, config(remote.URL(), 0))
	b := dial(t, client.BrokerOptions{Options: broker.Options{URL: remote.URL()}})
	l := start(t, b)
	l.await(t, 2)
	l.end()
	right(t, b, l.stored.Load())
	stop()

	c := config(remote.URL(), 0)
	c.Broker.Partitions = 4
	_, err := server.Open(brokertest.Deadline(t), c, zerolog.Nop())
	if err == nil || !strings.Contains(err.Error(), "16 partitions, 4 are configured") || !strings.Contains(err.Error(), "Another number of partitions") {
		t.Fatalf("4 partitions on streams with 16: got %v", err)
	}
	nc := brokertest.Connect(t, b.Broker)
	for _, stream := range []string{"LLM", "TOOLCALLS", "STREAMER_BLOBS", "KV_STREAMER_SNAPSHOT", "KV_STREAMER_CHECKPOINT", "KV_STREAMER_MEMBER"} {
		brokertest.Request(t, nc, "$JS.API.STREAM.DELETE."+stream, "")
	}
	serve(t, c)
	again := dial(t, client.BrokerOptions{Options: broker.Options{URL: remote.URL()}})
	if got := again.Partitions(); got != 4 {
		t.Errorf("got %d partitions, want 4", got)
	}
	l = start(t, again)
	l.await(t, 2)
	l.end()
	right(t, again, l.stored.Load())
}
