package worker

import (
	"context"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/snapshot"
)

// listed is what a listing has of a session with a snapshot.
type listed struct {
	token   string
	rev     uint64
	n       uint64      // of the last input folded
	at      time.Time   // when that was stored
	written time.Time   // when the snapshot was
	last    events.ID   // the last event
	kind    events.Type // of that event, "" where it was not recorded
	timer   events.Time // when the session's timer is due; 0 for no timer
	time    events.Time // of the session
	open    int         // calls
	held    string      // why the session is held, "" if it is not
	// lacking: the event log lacks events that the snapshot has, unsent ones or
	// such as the event log lost; or it has later ones than the snapshot.
	lacking bool
}

// listing is all sessions of a partition that have a snapshot, and of these the
// ones that are due, lack events or are held.
type listing struct {
	stored, open []listed
	newest       uint64         // highest revision
	complete     bool           // no snapshot is newer than those it has
	rewinds      broker.Rewinds // the newest that are recorded
}

// lister lists the snapshots of a partition.
type lister struct {
	log interface {
		Snapshots
		Events
	}
	partition int
	atOnce    int  // reads that are under way at once
	running   bool // a listing is under way
}

// list returns a listing. It can be stale, because a replica may answer.
func (r lister) list(ctx context.Context) (l listing, err error) {
	if l, err = r.snapshots(ctx); err != nil {
		return l, err
	}
	l.open, err = r.open(ctx, l.stored)
	return l, err
}

// snapshots returns a listing without the open ones.
func (r lister) snapshots(ctx context.Context) (l listing, err error) {
	index := map[string]int{} // of each token in the listing
	l.complete, err = r.log.ListSnapshots(ctx, r.partition, func(token string, rev uint64, header map[string]string, at time.Time) error {
		l.newest = max(l.newest, rev)
		h := snapshot.ParseHeader(header)
		s := listed{
			token: token, rev: rev, written: at, n: h.Input, at: h.At, last: h.Head, kind: h.Last, timer: h.Timer,
			time: max(h.Time, events.At(h.At)), open: h.Open, held: h.Held, lacking: h.Unsent > 0,
		}
		// The snapshot may have been replaced meanwhile.
		if i, ok := index[token]; ok {
			l.stored[i] = s
		} else {
			index[token] = len(l.stored)
			l.stored = append(l.stored, s)
		}
		if h.Rewinds.Newer(l.rewinds) {
			l.rewinds = h.Rewinds
		}
		return nil
	})
	return l, err
}

// lossWindow is how long before the newest snapshot others were written whose
// last events a power loss may have taken: longer than a server keeps anything
// unsynced.
const lossWindow = 5 * time.Second

// open returns the sessions that are due, lack events or are held.
func (r lister) open(ctx context.Context, stored []listed) (open []listed, err error) {
	if err := r.checkHeads(ctx, r.unconfirmed(ctx, lossSuspects(stored))); err != nil {
		return nil, err
	}
	for _, s := range stored {
		if s.lacking || s.timer != 0 || s.held != "" {
			open = append(open, s)
		}
	}
	return open, nil
}

// lossSuspects returns the sessions whose last events a power loss may have taken.
func lossSuspects(stored []listed) (suspects []*listed) {
	var newest time.Time
	for i := range stored {
		if stored[i].written.After(newest) {
			newest = stored[i].written
		}
	}
	for i := range stored {
		s := &stored[i]
		if !s.lacking && s.last != (events.ID{}) && newest.Sub(s.written) <= lossWindow {
			suspects = append(suspects, s)
		}
	}
	return suspects
}

// unconfirmed returns the sessions of which the last event was not found in the
// event log. A reading of many sessions at once costs a third of the readings of
// their heads, but it shows only that an event is there.
func (r lister) unconfirmed(ctx context.Context, suspects []*listed) (rest []*listed) {
	var typed []*listed
	var last []eventlog.Expected
	for _, s := range suspects {
		if s.kind == "" {
			rest = append(rest, s)
			continue
		}
		typed = append(typed, s)
		last = append(last, eventlog.Expected{Token: s.token, Type: s.kind, ID: s.last})
	}
	for i, confirmed := range r.log.Confirm(ctx, last) {
		if !confirmed {
			rest = append(rest, typed[i])
		}
	}
	return rest
}

// checkHeads reads the heads of the sessions' event logs and notes which of them
// lack events.
func (r lister) checkHeads(ctx context.Context, suspects []*listed) error {
	fails := make([]error, len(suspects))
	together(len(suspects), r.atOnce, func(i int) {
		var last events.Record
		if _, last, fails[i] = r.log.Head(ctx, suspects[i].token); fails[i] == nil {
			suspects[i].lacking = suspects[i].last.After(last.ID)
		}
	})
	for _, err := range fails {
		if err != nil {
			return err
		}
	}
	return nil
}

// begin begins to list the snapshots, since a listing can be stale and another
// worker may have written some meanwhile.
func (r *lister) begin(ctx context.Context, group *operations) {
	if r.running {
		return
	}
	r.running = true
	own := *r
	group.start(ctx, func(ctx context.Context) completion {
		l, err := own.list(ctx)
		return &listingRead{l, err}
	})
}

// listingRead is the outcome of lister.begin.
type listingRead struct {
	listing
	err error
}

func (r *listingRead) apply(ctx context.Context, q *partition) error {
	q.lister.running = false
	if r.err != nil {
		if ctx.Err() == nil {
			q.logger.Warn().Err(r.err).Msg("snapshots cannot be listed")
		}
		return nil
	}
	q.listed(ctx, r.listing)
	return nil
}

// listed sets the timers of sessions that are not in memory, and loads those
// with events to append.
func (q *partition) listed(ctx context.Context, all listing) {
	q.sessions.known.complete = all.complete
	for i := range all.stored {
		q.sessions.known.add(all.stored[i].token, all.stored[i].rev)
	}
	for i := range all.open {
		q.listedOne(ctx, &all.open[i])
	}
}

func (q *partition) listedOne(ctx context.Context, l *listed) {
	s, known, loading := q.sessions.resident[l.token], q.held.has(l.token), q.loads.of[l.token]
	switch {
	case l.held != "" && !known && s == nil && loading == nil:
		q.held.add(l.token, &held{reason: l.held})
	case l.held != "" || known:
	case s != nil:
		// Where something is under way, the conflict shows what is lost.
		if l.lacking && len(s.log.queue) == 0 {
			q.appender.readHead(ctx, s, nil)
		}
	case l.lacking:
		if loading == nil {
			s, loading = q.load(ctx, l.token)
		}
		if loading != nil {
			loading.lacking = true
		} else if len(s.log.queue) == 0 {
			q.appender.readHead(ctx, s, nil)
		}
	default:
		q.clock.listed(l, time.Now())
		if l.open > 0 && loading == nil {
			q.sessions.open.set(l.token, l.open)
		}
	}
}
