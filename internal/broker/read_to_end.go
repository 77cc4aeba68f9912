package broker

import (
	"cmp"
	"context"
	"errors"
)

// readToEnd reads a stream from sequence next on, up to its present end. r's
// deliver is left to it.
//
// The server counts a message that is damaged on its disk among what is
// waiting, and never delivers it. Where nothing comes although something is
// waiting, the stream's leader is asked whether it has another message.
func (b *Broker) readToEnd(ctx context.Context, r reading, next uint64, fn func(stored) error) error {
	e := end{b: b, r: r, next: next}
	r.deliver = func(batch []stored, pending uint64) error {
		for i := range batch {
			if err := fn(batch[i]); err != nil {
				return err
			}
			e.next, e.asked = batch[i].seq+1, false
		}
		if pending == 0 {
			return errStop
		}
		return nil
	}
	r.idle = e.reached
	if err := b.read(ctx, r, next); !errors.Is(err, errStop) {
		return err
	}
	return nil
}

// end looks for the end of a stream that is read.
type end struct {
	b     *Broker
	r     reading
	next  uint64 // sequence to read; 0 where r.since says where to begin
	asked bool   // the leader had no other message
}

// reached returns errStop where the stream has no other message. Where there
// are replicas, an outdated leader may answer for some seconds: it is asked
// twice, at two calls, which are longer apart.
func (e *end) reached(ctx context.Context) error {
	which := map[string]any{"seq": e.next, "next_by_subj": cmp.Or(e.r.filter, ">")}
	if e.next == 0 {
		delete(which, "seq")
		which["start_time"] = e.r.since
	}
	m, err := e.b.message(ctx, e.r.stream, which)
	switch {
	case err != nil:
		return err
	case m != nil:
		e.asked = false
	case e.asked || !e.b.replicated:
		return errStop
	default:
		e.asked = true
	}
	return nil
}
