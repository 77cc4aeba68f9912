package broker

import (
	"sync/atomic"

	"github.com/nats-io/nats.go"
)

// Counts is what went wrong since Open, and was mended.
type Counts struct {
	Disconnected uint64 // connections that were lost
	Reconnected  uint64 // connections that came back
	Resent       uint64 // publishes sent again because their outcome was not known
	Retried      uint64 // requests to JetStream tried again
	Remade       uint64 // consumers that were lost and made again
	Slow         uint64 // subscriptions that dropped messages
	Foreign      uint64 // times that something was found on an internal subject that is not streamer's, or not what streamer stored there
	Denied       uint64 // permissions or credentials that were refused
	Restarted    uint64 // restarts of the embedded server after a write error
}

// counts are Counts that grow, from any goroutine.
type counts struct {
	disconnected, reconnected, resent, retried, remade, slow, foreign, denied, restarted atomic.Uint64
}

// Counts tells what has happened so far.
func (b *Broker) Counts() Counts {
	c := &b.counts
	return Counts{
		Disconnected: c.disconnected.Load(), Reconnected: c.reconnected.Load(), Resent: c.resent.Load(),
		Retried: c.retried.Load(), Remade: c.remade.Load(), Slow: c.slow.Load(), Foreign: c.foreign.Load(), Denied: c.denied.Load(),
		Restarted: c.restarted.Load(),
	}
}

// Connected tells whether there is a connection.
func (b *Broker) Connected() bool {
	return b.nc.Status() == nats.CONNECTED && b.reads.Status() == nats.CONNECTED
}
