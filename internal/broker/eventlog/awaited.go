package eventlog

import (
	"context"
	"errors"
	"fmt"
)

// errGone reports that an event that was in the log is not there any more: it was
// deleted or has expired, or the log lost its end.
var errGone = errors.New("eventlog: an event is not in the log any more")

// goneTries is the number of times in a row that the stream's leader has to deny an
// event before it is gone. A leader that was elected a moment ago may not have applied
// all that is stored. The pauses between them add up to 1.26 s.
const goneTries = 7

// awaited is an event that the leader has stored and that a reading has not reached,
// because the replica that answers does not have it yet.
type awaited struct {
	l      *Log
	filter string // over the events that the reading returns
	seq    uint64
	tries  int
	denied int // times in a row that the leader had neither the event nor a later one
}

// pause waits before the reading is repeated. It returns errGone if no reading can
// reach the event.
func (a *awaited) pause(ctx context.Context) error {
	head, err := a.l.headOf(ctx, a.filter)
	if err != nil {
		return err
	}
	if a.denied++; head >= a.seq {
		a.denied = 0
	}
	if a.denied >= goneTries {
		return fmt.Errorf("%w: event %d of %s; the last one is event %d", errGone, a.seq, a.filter, head)
	}
	a.tries++
	return a.l.b.Backoff(ctx, a.tries-1)
}
