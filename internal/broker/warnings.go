package broker

import (
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Warnings returns a text for each setting of the server and its streams that
// weakens the guarantees. It explains what can be lost.
func (b *Broker) Warnings() []string { return b.warnings }

// narrowMargin is the recommended difference between the retention of events and of
// inputs.
const narrowMargin = 2 * ageMargin

// weaknesses returns the warnings about the configuration of the streams.
func (b *Broker) weaknesses(inputs, stored jetstream.StreamConfig) (w []string) {
	add := func(format string, v ...any) { w = append(w, fmt.Sprintf(format, v...)) }
	replicas := min(inputs.Replicas, stored.Replicas)
	switch cluster := b.nc.ConnectedClusterName(); {
	case cluster == "":
	case replicas == 1:
		add("the streams have one replica in the cluster %q: while its server is down everything waits, and with that server's disk all inputs and events are lost (--replicas 3)", cluster)
	case replicas == 2:
		add("the streams have two replicas: while either server is down everything waits, as with one replica (--replicas 3)")
	}
	if b.opts.Storage == storageMemory {
		add("the streams are in memory: when the server stops, acknowledged inputs, events and open calls are lost (--storage file)")
	}
	if margin := stored.MaxAge - inputs.MaxAge; margin < narrowMargin {
		add("events are kept only %v longer than inputs: after a server's clock jumps by more, a replay could append events again (--event-age)", margin)
	}
	return w
}
