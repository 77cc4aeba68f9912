package worker

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
)

// headerHeld is set in place of a snapshot where a session is held, and says
// why.
const headerHeld = "Held"

// errHeld is returned for a session whose snapshot was lost, whose inputs do not
// reach back to its beginning, and that has something open: an operator has to
// close it.
var errHeld = errors.New("worker: session held")

// held is such a session.
type held struct {
	reason string
	first  uint64 // its first input that is not folded, 0 if none came
}

// holdSession notes in place of its snapshot that a session is held, so that
// every owner and `streamer recover` see it.
func (q *partition) holdSession(ctx context.Context, l *live, why string) error {
	pub, _ := q.log.SavePub(q.p, l.token, l.rev, map[string]string{headerHeld: why}, nil)
	if a := q.log.PublishWait(ctx, pub); a.Err != nil {
		return fmt.Errorf("worker: session %q: holding it: %w", l.token, a.Err)
	}
	q.held[l.token] = &held{reason: why}
	q.sampled.Error().Str("session", l.token).Str("why", why).Msg("snapshot lost and not to be made again; the session is held until `streamer recover --yes` closes its open calls")
	q.reportHeld()
	return errHeld
}

// hold notes an input that is not folded, and holds the mark back.
func (q *partition) hold(in *broker.Input) {
	if h := q.held[in.Token]; h.first == 0 {
		h.first = in.Seq
	}
	q.reportHeld()
}

// reportHeld lets Problem say that sessions are held.
func (q *partition) reportHeld() {
	var err error
	for token, h := range q.held {
		err = fmt.Errorf("%d sessions of partition %d are held, session %s: its snapshot was lost, %s; `streamer recover` shows what can be done", len(q.held), q.p, token, h.reason)
		break
	}
	q.w.hold(q.p, err)
}

// release begins the partition again where an operator has closed a session
// that was held: its inputs are read again from the mark.
func (q *partition) release(ctx context.Context) error {
	for token := range q.held {
		saved, ok, err := q.log.LoadState(ctx, q.p, token)
		if err != nil {
			return nil //nolint:nilerr // a damaged one is no fresh one, and the rest is asked again
		}
		if _, still := saved.Header[headerHeld]; ok && !still {
			return fmt.Errorf("worker: session %q is no longer held", token)
		}
	}
	return nil
}
