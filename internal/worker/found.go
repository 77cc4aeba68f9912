package worker

import (
	"context"
	"crypto/sha256"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// found is the last event of a chain that somebody else stored, or we in an
// earlier life. When its inputs are folded again they must give the same: the
// log stands, but a difference means that two programs fold differently, or
// that somebody forged an event.
type found struct {
	id  events.ID // zero: nothing to compare
	sum [sha256.Size]byte
}

func sumOf(kind events.Type, call string, body []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(string(kind)+"\x00"+call+"\x00"), body...))
}

// chainEnd reads where a session's chain ends.
func (q *partition) chainEnd(ctx context.Context, l *live) error {
	seq, last, err := q.log.ChainLast(ctx, l.token)
	if err != nil {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	q.ends(l, seq, last)
	return nil
}

// ends notes where a session's chain ends. Messages behind its last event that
// are none are stepped over, loudly: the next event stands behind them.
func (q *partition) ends(l *live, seq uint64, last broker.Stored) {
	if seq != last.Seq {
		q.m.forged.Add(1)
		q.z.Error().Str("session", l.token).Uint64("event_seq", seq).Msg("forged message in the event log stepped over")
	}
	l.chain, l.id, l.found = seq, last.ID, found{}
	if _, stored := q.rewinds.Stored(last.ID.Seq); stored && last.ID != (events.ID{}) {
		l.found = found{last.ID, sumOf(last.Type, last.Call, last.Data)}
	}
}

// compare compares an event that the inputs gave with the one that was found
// stored, once the fold has come that far.
func (q *partition) compare(o *outgoing) {
	l := o.session
	if l.found.id == (events.ID{}) || l.found.id.After(o.ID) {
		return
	}
	if l.found.id != o.ID || l.found.sum != sumOf(o.Type, o.Call, o.Body) {
		q.m.diverged.Add(1)
		q.z.Error().Str("session", l.token).Stringer("event", l.found.id).Msg("stored event is not what its inputs give")
	}
	l.found = found{}
}
