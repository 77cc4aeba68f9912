package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"streamer/internal/broker/eventlog"
)

// opened is how many calls and runs of each session are open, as one reading of
// the event log's subjects found.
type opened struct {
	at time.Time // when the reading began
	of map[string]eventlog.Opened
}

// openedFor is how long such a reading is kept at least.
const openedFor = 5 * time.Second

// openEvents returns how many calls and runs of each session are open, as read
// since a time. Partitions that are taken over together share a reading. An older
// one lacks what an earlier owner opened since and its checkpoint covers.
func (w *Worker) openEvents(ctx context.Context, since time.Time) (map[string]eventlog.Opened, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.opened.of == nil || w.opened.at.Before(since) {
		at := time.Now()
		of, err := w.Log.OpenEvents(ctx)
		if err != nil {
			return nil, err
		}
		w.opened = opened{at, of}
		time.AfterFunc(2*openedFor, w.forgetOpened)
	}
	return w.opened.of, nil
}

// forgetOpened gives up the room of a reading that is no longer used.
func (w *Worker) forgetOpened() {
	w.reading.Lock()
	defer w.reading.Unlock()
	w.opened = opened{}
}

// checkOpen loads the sessions of which the event log and the snapshot do not
// have the same open: the snapshot was lost, or is older than the events. Most
// of them are folded again. since is before the checkpoint was read.
func (q *partition) checkOpen(ctx context.Context, saved []listed, since time.Time) error {
	defer q.forgetCold()
	all, err := q.w.openEvents(ctx, since)
	if err != nil {
		return err
	}
	noted := make(map[string]bool, len(saved))
	for i := range saved {
		s := &saved[i]
		noted[s.token] = s.held != "" || s.open == all[s.token].Calls && (s.wake != 0 || all[s.token].Runs == 0)
	}
	var differ []string
	for i := range saved {
		if !noted[saved[i].token] {
			differ = append(differ, saved[i].token)
		}
	}
	for token := range all {
		if _, listed := noted[token]; !listed && q.log.Partition(token) == q.p {
			differ = append(differ, token)
		}
	}
	slices.Sort(differ)
	for i, token := range differ {
		q.known.add(token)
		q.prefetch(ctx, slices.Values(differ[i:]))
		if _, err := q.load(ctx, token); err != nil && !errors.Is(err, errHeld) {
			return err
		}
	}
	return nil
}
