package worker

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/snapshot"

	"github.com/rs/zerolog"
)

// eventLog is a session's event log as this worker knows it, and the events that
// it still has to append.
type eventLog struct {
	// The head: sequence of the last message, and id of the last event. Events up
	// to id are stored, by this worker or by another that folded the same.
	seq   uint64
	id    events.ID
	epoch uint64 // of the connection in which the head was learned

	queue []*outgoing    // events that are not stored yet, in order
	acked []*outgoing    // the last stored events, as long as a power loss can take them
	base  snapshot.Point // of the event before acked and queue
	// baseType is the type of the event at base where trim set that.
	baseType events.Type
	found    found

	reading  bool // the head is being read; nothing is appended meanwhile
	stuck    bool // the next event was refused for good
	refusals int  // refused appends in a row although the head was where it was expected
}

// found is the last event that was found in the log and that this worker has not
// folded yet. Folding its input must give the same event. The log stands, but a
// difference means that two programs fold differently or that an event is forged.
type found struct {
	id  events.ID // zero: nothing to compare
	sum [sha256.Size]byte
}

func sumOf(kind events.Type, call string, body []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(string(kind)+"\x00"+call+"\x00"), body...))
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
func (l *eventLog) head(token string, seq uint64, last *events.Record, rewinds broker.Rewinds, r *reports) {
	if seq != last.Seq {
		r.status.forged.Add(1)
		r.logger.Error().Str("session", token).Uint64("event_seq", seq).Msg("forged message in the event log skipped")
	}
	l.seq, l.id, l.found = seq, last.ID, found{}
	if _, stored := rewinds.Stored(last.ID.Seq); stored && last.ID != (events.ID{}) {
		l.found = found{last.ID, sumOf(last.Type, last.Call, last.Data)}
	}
}

// compare compares an event that was folded with the one that was found stored,
// if the fold has come that far.
func (l *eventLog) compare(o *outgoing, token string, r *reports) {
	if l.found.id == (events.ID{}) || l.found.id.After(o.ID) {
		return
	}
	if l.found.id != o.ID || l.found.sum != sumOf(o.Type, o.Call, o.Body) {
		r.status.diverged.Add(1)
		r.logger.Error().Str("session", token).Stringer("event", l.found.id).Msg("stored event differs from the event that its input gives")
	}
	l.found = found{}
}

// bytes returns the size of the events that are not stored.
func (l *eventLog) bytes() (n int) {
	for _, o := range l.queue {
		n += o.size()
	}
	return n
}

// shift moves the first event of the queue to the stored ones.
func (l *eventLog) shift(seq uint64, now time.Time) *outgoing {
	o := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	o.at, o.Seq = now, seq
	l.acked = append(l.acked, o)
	if len(l.queue) == 0 {
		l.queue = nil
	}
	return o
}

// trim drops stored events that no power loss can take any more.
func (l *eventLog) trim(now time.Time, keep time.Duration) {
	n := 0
	for n < len(l.acked) && now.Sub(l.acked[n].at) > keep {
		l.base, l.baseType = snapshot.Point{Seq: l.acked[n].Seq, ID: l.acked[n].ID}, l.acked[n].Type
		n++
	}
	clear(l.acked[:n]) // or the array would hold their bodies
	l.acked = l.acked[n:]
	if len(l.acked) == 0 {
		l.acked = nil
	}
}

// lastType returns the type of the last stored event, "" where it is not known.
func (l *eventLog) lastType() events.Type {
	if n := len(l.acked); n > 0 && l.acked[n-1].ID == l.id {
		return l.acked[n-1].Type
	}
	if l.base.ID == l.id {
		return l.baseType
	}
	return ""
}

// errShort is returned where the event log lost events of a resident session
// that memory does not have any more: the partition starts again and folds their
// inputs again.
var errShort = errors.New("worker: the event log lost events")

// requeue queues again the events after id that were stored and that the log
// lost. It returns their size.
func (l *eventLog) requeue(token string, id events.ID) (size int, err error) {
	if l.base.ID.After(id) {
		return 0, fmt.Errorf("%w: session %q: it ends at event %s, memory reaches back to %s", errShort, token, id, l.base.ID)
	}
	n := len(l.acked)
	for n > 0 && l.acked[n-1].ID.After(id) {
		n--
	}
	lost := l.acked[n:]
	queue := make([]*outgoing, 0, len(lost)+len(l.queue))
	for i := range lost {
		o := *lost[i]
		o.blobs = 0
		size += o.size()
		queue = append(queue, &o)
	}
	l.acked, l.queue, l.id = l.acked[:n:n], slices.Concat(queue, l.queue), id
	return size, nil
}

// keep notes an event that is stored already, as long as a power loss can take
// it.
func (l *eventLog) keep(o *outgoing, at time.Time) {
	o.at, o.Seq = at, l.seq
	l.acked = append(l.acked, o)
}

// unsent returns the input whose events are appended next. The checkpoint does
// not pass it: were the snapshot lost that has them, nothing would show that they
// are missing. Events that the server refuses for good do not hold it back.
func (l *eventLog) unsent(rewinds broker.Rewinds) (seq uint64, ok bool) {
	if l.stuck {
		return 0, false
	}
	for _, o := range l.queue {
		if seq, ok = rewinds.Stored(o.ID.Seq); ok {
			return seq, true
		}
	}
	return 0, false
}
