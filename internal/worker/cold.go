package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"streamer/internal/broker"
)

// coldAtOnce is how many sessions a partition reads at once: what is read is
// in memory until it is used.
const coldAtOnce = 64

// cold is what the logs say of a session that is not in memory.
type cold struct {
	saved broker.State
	ok    bool   // there is a saved state
	epoch uint64 // in which the end of the chain was read
	end   uint64 // sequence of the chain's last message
	last  broker.Stored
	left  *evicted // where it stood when it left memory, if that still holds
	// damaged is why what is stored in place of its snapshot is none.
	damaged error
	err     error
}

// readCold asks for a session's saved state, and then where its chain ends,
// unless that is known.
func (q *partition) readCold(ctx context.Context, token string) (c cold) {
	c.saved, c.ok, c.err = q.log.LoadState(ctx, q.p, token)
	if errors.Is(c.err, broker.ErrDamaged) {
		c.damaged, c.err = c.err, nil
	}
	if left, ok := q.evicted[token]; ok && c.err == nil && left.rev == c.saved.Rev && left.epoch == q.log.Epoch() {
		c.left = &left
	} else if c.err == nil {
		c.epoch = q.log.Epoch()
		c.end, c.last, c.err = q.log.ChainLast(ctx, token)
	}
	if c.err != nil {
		c.err = fmt.Errorf("worker: session %q: %w", token, c.err)
	}
	return c
}

// prefetch reads sessions that load will be asked for: the first of tokens
// and, at the same time, some that follow it. If the first is there already it
// does nothing. To read one is to wait twice for a server that could answer
// hundreds meanwhile.
//
// What is read may be old when it is used, as it may be whenever something is
// read: another owner can append and save at any moment, and the conditions
// say so. It must not outlive the turn of the owner that asked for it: an
// outcome that comes between two turns can bring a session into memory, and
// what was read of it before is then from before inputs that were folded.
// forgetCold ends the turn.
func (q *partition) prefetch(ctx context.Context, tokens iter.Seq[string]) {
	var wanted []string
	for token := range tokens {
		_, read := q.cold[token]
		known := read || q.live[token] != nil || q.held[token] != nil || !q.known.has(token)
		if known && len(wanted) == 0 {
			return
		}
		if known {
			continue
		}
		q.cold[token] = cold{}
		if wanted = append(wanted, token); len(wanted) == coldAtOnce {
			break
		}
	}
	read := make([]cold, len(wanted))
	together(len(wanted), q.atOnce, func(i int) { read[i] = q.readCold(ctx, wanted[i]) })
	for i, token := range wanted {
		q.cold[token] = read[i]
	}
}

// forgetCold forgets what was read and not used.
func (q *partition) forgetCold() {
	clear(q.cold)
}

// takeCold gives what was read of a session, or reads it now. It is given
// once.
func (q *partition) takeCold(ctx context.Context, token string) cold {
	c, ok := q.cold[token]
	if !ok {
		return q.readCold(ctx, token)
	}
	delete(q.cold, token)
	return c
}

// together calls f with each number below n, at most so many calls at once,
// and returns when all have.
func together(n, atOnce int, f func(i int)) {
	numbers := make(chan int)
	var calls sync.WaitGroup
	for range min(n, atOnce) {
		calls.Go(func() {
			for i := range numbers {
				f(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	calls.Wait()
}
