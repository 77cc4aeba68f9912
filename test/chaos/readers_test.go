package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"streamer/internal/client"
	"streamer/internal/events"
)

// readers follow some sessions live, as the gateway does for its clients.
type readers struct {
	b    *client.Broker
	stop context.CancelFunc
	ctx  context.Context //nolint:containedctx // the readers begin at different times and end together
	wg   sync.WaitGroup

	mu       sync.Mutex
	received map[string][]uint64 // sequences of the events, by session
}

// newReaders returns readers of the event log of b.
func newReaders(t *testing.T, b *client.Broker) *readers {
	r := &readers{b: b, received: map[string][]uint64{}}
	r.ctx, r.stop = context.WithCancel(t.Context())
	return r
}

// follow starts to read a session, unless it is read already.
func (r *readers) follow(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.received[token]; ok {
		return
	}
	r.received[token] = nil
	r.wg.Go(func() {
		_ = r.b.Tail(r.ctx, token, 0, func(s events.Record, _ bool) error { // ends with ctx
			if s.Seq > 0 {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.received[token] = append(r.received[token], s.Seq)
			}
			return nil
		}, nil)
	})
}

// behind lists the sessions whose reader has not received exactly the events of the
// log.
func (r *readers) behind(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return differing(ctx, r.b, "reader", r.received)
}

// differing lists the sessions whose received events differ from the stored ones. Clients may
// have received events from before an erasure, or not.
func differing(ctx context.Context, b *client.Broker, client string, received map[string][]uint64) (list []string, err error) {
	stored, err := histories(ctx, b)
	for token, seqs := range received {
		h := stored[token]
		if h == nil {
			h = new(history)
		}
		if !slices.Equal(h.since(seqs), h.seqs) || !slices.IsSorted(seqs) {
			list = append(list, fmt.Sprintf("session %s: stored events %v, its %s received %v", token, h.seqs, client, seqs))
		}
	}
	return list, err
}

// end ends all readers and returns the number of their sessions.
func (r *readers) end() int {
	r.stop()
	r.wg.Wait()
	return len(r.received)
}
