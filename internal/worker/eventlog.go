package worker

import (
	"crypto/sha256"
	"slices"
	"time"

	"streamer/internal/broker/eventlog"
	"streamer/internal/events"

	"github.com/rs/zerolog"
)

// eventLog is a session's event log as this worker knows it, and the events that
// it still has to append.
type eventLog struct {
	// The head: sequence of the last message, and id of the last event. Events up
	// to id are stored, by this worker or by another that folded the same.
	seq   uint64
	id    events.ID
	epoch uint64    // of the connection in which the head was learned
	acked time.Time // when the head was learned

	ahead []events.ID // stored events whose inputs are not folded yet, in order
	queue []*outgoing // events that are not stored yet, in order
	found foundEvent

	stuck    bool // the next event was refused for good
	refusals int  // refused appends in a row although the head was where it was expected
}

// foundEvent is the last event that was found in the log and that this worker has not
// folded yet. Folding its input must give the same event. The log stands, but a
// difference means that two programs fold differently or that an event is forged.
type foundEvent struct {
	id  events.ID // zero: nothing to compare
	sum [sha256.Size]byte
}

// reports are where a partition counts and logs. Operations use them as well.
type reports struct {
	partition int
	status    *status
	logger    zerolog.Logger
	// sampled logs at a bounded rate what can happen to all sessions at once.
	sampled  zerolog.Logger
	observer Observer
}

// head takes the head that was read. Messages behind the last event that are no
// events are skipped and reported: the next event is appended behind them.
func (l *eventLog) head(token string, h *head, r *reports) {
	if h.seq != h.last.Seq {
		r.status.forged.Add(1)
		r.logger.Error().Str("session", token).Uint64("event_seq", h.seq).Msg("forged message in the event log skipped")
	}
	l.seq, l.id, l.found = h.seq, h.last.ID, foundEvent{h.last.ID, h.sum}
}

// compare compares an event that was folded with the one that was found stored,
// if the fold has come that far.
func (l *eventLog) compare(o *outgoing, token string, r *reports) {
	if l.found.id == (events.ID{}) || l.found.id.After(o.ID) {
		return
	}
	if l.found.id != o.ID || l.found.sum != eventlog.Sum(o.Type, o.Call, o.Body) {
		r.diverged(token, l.found.id)
	}
	l.found = foundEvent{}
}

func (r *reports) diverged(token string, id events.ID) {
	r.status.diverged.Add(1)
	r.logger.Error().Str("session", token).Stringer("event", id).Msg("stored event differs from the event that its input gives")
}

// follow notes that an event follows from the state. It reports whether it is stored.
func (l *eventLog) follow(id events.ID) (stored bool) {
	if len(l.ahead) > 0 && l.ahead[0] == id {
		l.ahead = l.ahead[1:]
	}
	return !id.After(l.id)
}

// pass notes that the input stored at seq is folded. What is stored of it and did not
// follow stands.
func (l *eventLog) pass(seq uint64, token string, r *reports) {
	if len(l.ahead) == 0 || l.ahead[0].Seq > seq {
		return
	}
	r.diverged(token, l.ahead[0])
	l.ahead = slices.DeleteFunc(slices.Clone(l.ahead), func(id events.ID) bool { return id.Seq <= seq })
	if l.found.id.Seq <= seq {
		l.found = foundEvent{}
	}
}

func (l *eventLog) bytes() (n int) {
	for _, o := range l.queue {
		n += o.size()
	}
	return n
}

func (l *eventLog) shift() *outgoing {
	o := l.queue[0]
	l.queue[0] = nil
	if l.queue = l.queue[1:]; len(l.queue) == 0 {
		l.queue = nil
	}
	return o
}
