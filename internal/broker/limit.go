package broker

import (
	"maps"
	"sync"
	"time"
)

// hush keeps the log short while something is wrong with NATS: a line for each
// kind of trouble when it begins, and one every hushFor while it lasts.
type hush struct {
	mu   sync.Mutex
	down bool                 // there was a connection, and it is lost
	told map[string]time.Time // by kind, in the last hushFor
}

const (
	hushFor   = 30 * time.Second
	hushKinds = 64 // told in that time; more are kept quiet
)

// The kinds of trouble. What the server says by itself is a kind of its own.
const (
	noConnection = "no connection"
	refusedThere = "refused" // what waiting does not heal
	noAnswer     = "no answer"
	noReading    = "no reading"
	noAck        = "no acknowledgement"
)

// begin notes that the connection is lost, which is told.
func (h *hush) begin(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = true
	h.told = map[string]time.Time{noConnection: now}
}

// over notes that there is a connection.
func (h *hush) over() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down, h.told = false, nil
}

// worth tells whether trouble of a kind is to be told now. What only follows
// from a lost connection is not.
func (h *hush) worth(kind string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down && kind != noConnection && kind != refusedThere {
		return false
	}
	maps.DeleteFunc(h.told, func(_ string, at time.Time) bool { return now.Sub(at) >= hushFor })
	if _, known := h.told[kind]; known || len(h.told) >= hushKinds {
		return false
	}
	if h.told == nil {
		h.told = map[string]time.Time{}
	}
	h.told[kind] = now
	return true
}

// trouble is told of what goes on happening.
func (b *Broker) trouble(kind, msg string, err error) {
	if b.hush.worth(kind, time.Now()) {
		b.notice(msg, err)
	}
}
