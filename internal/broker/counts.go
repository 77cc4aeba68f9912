package broker

import (
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Counts are the failures since Open from which the broker recovered.
type Counts struct {
	Disconnected uint64 // connections that were lost
	Reconnected  uint64 // connections that were restored
	Resent       uint64 // publishes sent again because their outcome was unknown
	Retried      uint64 // requests to JetStream tried again
	Remade       uint64 // consumers that were lost and replaced
	Slow         uint64 // subscriptions that dropped messages
	Foreign      uint64 // messages on an internal subject that streamer did not write, or in place of what it stored there
	Denied       uint64 // permissions or credentials that were refused
	Restarted    uint64 // restarts of the embedded server after a write error
}

type counts struct {
	disconnected, reconnected, resent, retried, remade, slow, foreign, denied atomic.Uint64
}

// Counts returns the current counts.
func (b *Broker) Counts() Counts {
	c := &b.counts
	n := Counts{
		Disconnected: c.disconnected.Load(), Reconnected: c.reconnected.Load(), Resent: c.resent.Load(),
		Retried: c.retried.Load(), Remade: c.remade.Load(), Slow: c.slow.Load(), Foreign: c.foreign.Load(), Denied: c.denied.Load(),
	}
	if b.embedded != nil {
		n.Restarted = b.embedded.Restarts()
	}
	return n
}

// Connected reports whether both connections are up.
func (b *Broker) Connected() bool {
	return b.nc.Status() == nats.CONNECTED && b.reads.Status() == nats.CONNECTED
}
