package worker

import (
	"context"
	"time"

	"streamer/internal/events"
	"streamer/internal/snapshot"
)

// listedSession is what a listing has of a session with a snapshot, with the time of the session.
type listedSession struct {
	token string
	snapshot.Header
}

// listing is all sessions of a partition that have a snapshot. It can be stale, because a
// replica may answer.
type listing struct {
	stored   []listedSession
	complete bool   // no snapshot is newer than those it has
	newest   uint64 // revision of a snapshot
}

// lister lists the snapshots of a partition.
type lister struct {
	log       Snapshots
	partition int
	running   bool // a listing is under way
}

func (r lister) list(ctx context.Context) (l listing, err error) {
	index := map[string]int{} // of each token in the listing
	l.complete, err = r.log.ListSnapshots(ctx, r.partition, func(token string, rev uint64, header map[string]string, _ time.Time) error {
		l.newest = max(l.newest, rev)
		s := listedSession{token, snapshot.ParseHeader(header)}
		s.Time = max(s.Time, events.At(s.At))
		// The snapshot may have been replaced meanwhile.
		if i, ok := index[token]; ok {
			l.stored[i] = s
		} else {
			index[token] = len(l.stored)
			l.stored = append(l.stored, s)
		}
		return nil
	})
	return l, err
}

// begin begins to list the snapshots, since a listing can be stale and another
// worker may have written some meanwhile.
func (r *lister) begin(group *operations) {
	if r.running {
		return
	}
	r.running = true
	own := *r
	group.start(func(ctx context.Context) any {
		l, err := own.list(ctx)
		return &listingResult{l, err}
	})
}

// listingResult is the result of lister.begin.
type listingResult struct {
	listing
	err error
}

func (q *partition) listingDone(r *listingResult) {
	q.lister.running = false
	if r.err != nil {
		q.logger.Warn().Err(r.err).Msg("cannot list snapshots")
		return
	}
	q.useListing(&r.listing)
}

// useListing notes the sessions that have a snapshot, and sets the timers of those that are
// not live.
func (q *partition) useListing(all *listing) {
	now := time.Now()
	if len(q.table.of) == 0 { // later it may have forgotten some
		q.table.complete = all.complete
	}
	for i := range all.stored {
		l := &all.stored[i]
		e := q.table.add(l.token)
		switch {
		case q.held.has(l.token) || e.live != nil || q.loads.of[l.token] != nil:
		case l.Held != "":
			q.held.add(l.token, &held{reason: l.Held})
		case l.Timer != 0:
			q.clock.scheduleStored(l, now)
			fallthrough
		default:
			if e.level == known {
				q.table.setOpen(e, l.Open)
				q.lower(e)
			}
		}
	}
}
