package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/snapshot"
)

// head is where a session's event log ends.
type head struct {
	seq  uint64 // of the last message
	last point  // the last event, zero if there is none
	prev uint64 // sequence of the message that the last event names
	sum  [sha256.Size]byte
}

func (r *restorer) head(ctx context.Context) (h head, err error) {
	seq, last, err := r.log.Head(ctx, r.token)
	h = head{seq: seq, last: point{last.Seq, last.ID}, prev: last.Prev}
	if r.last = h.last; last.Seq != 0 {
		h.sum = eventlog.Sum(last.Type, last.Call, last.Data)
	}
	return h, err
}

// fromEnd returns the session as it follows from the end of its event log that the takeover
// read, nil if it does not. Where others append meanwhile, the next append is refused.
func (r *restorer) fromEnd(ctx context.Context) (s *resident, err error) {
	end := r.end
	if r.end = nil; end == nil {
		return nil, nil
	}
	if s = r.memory; s == nil {
		stored, ok, damaged, err := r.snapshot(ctx)
		if err != nil || damaged != nil || snapshot.ParseHeader(stored.Header).Held != "" {
			return nil, err
		}
		if s = r.empty(&stored); ok {
			if s, err = r.from(&stored); err != nil {
				return nil, nil //nolint:nilerr // it is read again, and reported
			}
		}
	}
	behind, ok := end.After(s.log.seq)
	if !ok || len(behind) > 0 && behind[0].ID.Seq < r.pos {
		return nil, nil
	}
	var ids []events.ID
	for _, e := range behind {
		ids = append(ids, e.ID)
	}
	r.last = point(end.Last())
	err = r.fitTo(ctx, s, &head{seq: r.last.Seq, last: r.last, sum: end.Sum}, ids)
	if isUnlike(err) {
		return nil, nil
	}
	return s, err
}

// behind returns the ids of the events behind those that a state covers.
func (r *restorer) behind(ctx context.Context, l *eventLog, h *head) (ids []events.ID, err error) {
	if h.last.ID == l.id {
		return nil, nil
	}
	if h.seq == h.last.Seq && h.prev == l.seq && h.last.ID.After(l.id) {
		return []events.ID{h.last.ID}, nil
	}
	first, _, err := r.log.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	if l.id.After(h.last.ID) {
		if l.seq < first {
			return nil, nil // they have expired
		}
		r.status.damaged.Add(1)
		r.sampled.Error().Str("session", r.token).Stringer("event", h.last.ID).Stringer("want", l.id).Msg("event log lost events of a session")
		return nil, &unlikeError{fmt.Sprintf("event %s is missing", l.id)}
	}
	begins := l.id == (events.ID{})
	err = r.log.Events(ctx, r.token, l.seq, func(e events.Record) error {
		if begins && len(ids) == 0 && e.Prev != 0 && e.Prev < first && e.Type != events.SessionErased {
			return &unlikeError{"its first events have expired"}
		}
		if e.Seq > h.last.Seq { // stored since
			return errEnough
		}
		if e.ID.After(l.id) {
			ids = append(ids, e.ID)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return ids, err
}
