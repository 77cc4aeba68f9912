package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"streamer/internal/app"
	"streamer/internal/broker"
)

// readers follow some sessions live all the time, as connections of browsers
// do.
type readers struct {
	b    *app.Broker
	stop context.CancelFunc
	ctx  context.Context //nolint:containedctx // they begin at different times and end together
	wg   sync.WaitGroup

	mu    sync.Mutex
	heard map[string][]uint64 // sequences of the events, by session
}

func newReaders(t *testing.T, b *app.Broker) *readers {
	r := &readers{b: b, heard: map[string][]uint64{}}
	r.ctx, r.stop = context.WithCancel(t.Context())
	return r
}

// follow begins to read a session, once.
func (r *readers) follow(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.heard[token]; ok {
		return
	}
	r.heard[token] = nil
	r.wg.Go(func() {
		_ = r.b.Tail(r.ctx, token, 0, func(s broker.Stored, _ bool) error { // ends with ctx
			if s.Seq > 0 {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.heard[token] = append(r.heard[token], s.Seq)
			}
			return nil
		})
	})
}

// behind lists the readers that have not heard what the log holds, or more
// than that.
func (r *readers) behind(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return differing(ctx, r.b, "reader", r.heard)
}

// differing compares what was heard of each session with what is stored of it.
func differing(ctx context.Context, b *app.Broker, who string, heard map[string][]uint64) (list []string, err error) {
	stored, err := sequences(ctx, b)
	for token, heard := range heard {
		if !slices.Equal(heard, stored[token]) {
			list = append(list, fmt.Sprintf("%s is stored as %v, its %s heard %v", token, stored[token], who, heard))
		}
	}
	return list, err
}

// sequences returns the sequences of the events in the log, by session.
func sequences(ctx context.Context, b *app.Broker) (map[string][]uint64, error) {
	stored := map[string][]uint64{}
	err := b.Events(ctx, "", 0, func(s broker.Stored) error {
		if !isAck(s.Data) {
			stored[s.Token] = append(stored[s.Token], s.Seq)
		}
		return nil
	})
	return stored, err
}

// end ends all readers.
func (r *readers) end() int {
	r.stop()
	r.wg.Wait()
	return len(r.heard)
}
