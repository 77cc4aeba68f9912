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

// until calls read, which returns the sequence that it has reached, until that is at
// least seq: the replica that answers may not have the event yet. It returns errGone if
// the leader has neither the event nor a later one on the filter.
func (l *Log) until(ctx context.Context, filter string, seq uint64, read func() (uint64, error)) error {
	denied := 0 // times in a row
	for try := 0; ; try++ {
		if last, err := read(); err != nil || last >= seq {
			return err
		}
		head, err := l.headOf(ctx, filter)
		if err != nil {
			return err
		}
		if denied++; head >= seq {
			denied = 0
		}
		if denied >= goneTries {
			return fmt.Errorf("%w: event %d of %s; the last one is event %d", errGone, seq, filter, head)
		}
		if err := l.b.Backoff(ctx, try); err != nil {
			return err
		}
	}
}
