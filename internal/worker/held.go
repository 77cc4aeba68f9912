package worker

import (
	"context"
	"fmt"

	"streamer/internal/broker"
)

// headerHeld is set in place of a snapshot where a session is held. Its value is
// the reason.
const headerHeld = "Held"

// held is a session whose snapshot was lost, whose inputs do not reach back to
// its beginning, and that has open calls: an operator has to close it.
type held struct {
	reason string
	first  uint64 // its first input that is not folded, 0 if none arrived
}

// skipHeld notes an input that is not folded, and holds the checkpoint back.
func (q *partition) skipHeld(in *broker.Input) {
	if h := q.held[in.Token]; h.first == 0 {
		h.first = in.Seq
	}
}

// holdLoaded notes that a session that was to be loaded is held.
func (q *partition) holdLoaded(l *loading, why *heldError) {
	q.loads.remove(l)
	h := &held{reason: why.reason}
	if l.behind { // its inputs that were folded in memory are lost with that
		h.first = l.first
	} else if len(l.inputs) > 0 {
		h.first = l.inputs[0].Seq
	}
	q.held[l.token] = h
	q.clock.clear(l.token)
	q.reportHeld()
}

// reportHeld makes Problem report that sessions are held.
func (q *partition) reportHeld() {
	var err error
	for token, h := range q.held {
		err = fmt.Errorf("%d sessions of partition %d are held, session %s: its snapshot was lost, %s; `streamer recover` shows what can be done", len(q.held), q.p, token, h.reason)
		break
	}
	q.status.hold(err)
}

// checkHeld begins to look whether an operator has closed sessions that are held.
func (q *partition) checkHeld(ctx context.Context) {
	if len(q.held) == 0 || q.checkingHeld {
		return
	}
	q.checkingHeld = true
	var tokens []string
	for token := range q.held {
		tokens = append(tokens, token)
	}
	log, p := q.log, q.p
	q.chores.start(ctx, func(ctx context.Context) completion {
		return &heldCheck{released(ctx, log, p, tokens)}
	})
}

// released returns a session that is no longer held, "" if there is none. An
// error is reported as none: the sessions are looked at again later.
func released(ctx context.Context, log Snapshots, p int, tokens []string) string {
	for _, token := range tokens {
		stored, ok, err := log.LoadState(ctx, p, token)
		if err != nil {
			return "" // a damaged snapshot is not a fresh one
		}
		if _, still := stored.Header[headerHeld]; ok && !still {
			return token
		}
	}
	return ""
}

// heldCheck is the outcome of checkHeld.
type heldCheck struct{ released string }

// apply ends the run of the partition where a session was released. The next run
// reads its inputs again from the checkpoint.
func (c *heldCheck) apply(_ context.Context, q *partition) error {
	q.checkingHeld = false
	if c.released != "" && q.held[c.released] != nil {
		return fmt.Errorf("worker: session %q is no longer held", c.released)
	}
	return nil
}
