package turns

import (
	"context"
	"slices"

	"streamer/internal/events"
)

// List returns the turns of a session, in order.
func List(ctx context.Context, log Log, token string) (list []Turn, err error) {
	starts, err := eventsOf(ctx, log, token, events.RunStarted)
	if err != nil {
		return nil, err
	}
	ends, err := eventsOf(ctx, log, token, events.RunFinished)
	if err != nil {
		return nil, err
	}
	for _, start := range starts {
		var end *event // of the run before this one
		for len(ends) > 0 && ends[0].seq < start.seq {
			end, ends = &ends[0], ends[1:]
		}
		joins := end == nil && len(list) > 0
		if end != nil {
			if joins, err = continued(ctx, log, token, end); err != nil {
				return nil, err
			}
		}
		if !joins {
			list = append(list, Turn{})
			if end != nil {
				list[len(list)-1].From = end.seq
			}
		}
		last := &list[len(list)-1]
		last.Run, last.Start = start.Run, start.seq
	}
	return list, nil
}

// over returns the sequence of the last event of a turn, whose last run ends with end: that
// end, or the result of a call that it left open. It is 0 while such a call is open.
func over(ctx context.Context, log Log, token string, end *event) (uint64, error) {
	last, open := end.seq, slices.Clone(end.Pending)
	if len(open) == 0 {
		return last, nil
	}
	err := log.EventsOf(ctx, token, events.ToolCallResult, end.seq, func(r events.Record) error {
		if i := slices.Index(open, r.Call); i >= 0 {
			open = slices.Delete(open, i, i+1)
			last = r.Seq
		}
		return nil
	})
	if len(open) > 0 {
		last = 0
	}
	return last, err
}

// MessageIDs returns the ids of the messages of a session, as its input has them: of those
// up to a sequence, and of those after it.
func MessageIDs(ctx context.Context, log Log, token string, from uint64) (earlier, later map[string]bool, err error) {
	earlier, later = map[string]bool{}, map[string]bool{}
	for _, typ := range []events.Type{events.MessageStarted, events.HumanMessage} {
		list, err := eventsOf(ctx, log, token, typ)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range list {
			if ids := later; e.Place != nil && e.MessageID != "" {
				if e.seq <= from {
					ids = earlier
				}
				ids[e.MessageID] = true
			}
		}
	}
	return earlier, later, nil
}
