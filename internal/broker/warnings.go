package broker

import (
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Warnings says, in words, which settings of the server and its streams weaken
// what is promised, and what can be lost by each.
func (b *Broker) Warnings() []string { return b.warnings }

// narrowMargin is how much longer than inputs events should be kept.
const narrowMargin = 2 * ageMargin

func (b *Broker) weaknesses(inputs, stored jetstream.StreamConfig) (w []string) {
	say := func(format string, v ...any) { w = append(w, fmt.Sprintf(format, v...)) }
	replicas := min(inputs.Replicas, stored.Replicas)
	switch cluster := b.nc.ConnectedClusterName(); {
	case cluster == "":
	case replicas == 1:
		say("the streams have one replica in the cluster %q: while its server is away everything waits, and with that server's disk all inputs and events are lost (--replicas 3)", cluster)
	case replicas == 2:
		say("the streams have two replicas: while either server is away everything waits, as with one (--replicas 3)")
	}
	if b.opts.Storage == storageMemory {
		say("the streams are in memory: when the server stops, acknowledged inputs, events and open calls are lost (--storage file)")
	}
	if margin := stored.MaxAge - inputs.MaxAge; margin < narrowMargin {
		say("events are kept only %v longer than inputs: after a server's clock jumps by more, a replay could tell events again (--event-age)", margin)
	}
	return w
}
