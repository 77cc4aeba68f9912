package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/gateway/respond"
)

// Headers of a 410 answer.
const (
	headerFirst     = "Streamer-First-Seq" // sequence of the first event of the log
	headerRetention = "Streamer-Retention" // time for which events are stored, in seconds
)

// opening checks that from is a cursor of the selected sessions and that the log still has
// their events after it.
func (g *Gateway) opening(w http.ResponseWriter, r *http.Request, sel *selection, from uint64) (encode.Opening, error) {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	first, last, err := g.store.EventBounds(ctx)
	if err != nil {
		return encode.Opening{}, fmt.Errorf("gateway: bounds of the event log: %w", err)
	}
	if from > last {
		return encode.Opening{}, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the log ends at %d, before the cursor %d: it is the cursor of another log", last, from))
	}
	if from >= first {
		err = g.checkOwner(ctx, sel, from)
	} else if from > 0 && from+1 < first {
		err = g.checkGone(ctx, w, sel, from, first)
	}
	if err != nil {
		return encode.Opening{}, err
	}
	open := g.openingAt("", from)
	open.First, open.Last = first, last
	return open, nil
}

// checkOwner refuses a cursor that is an event of a session that is not selected.
func (g *Gateway) checkOwner(ctx context.Context, sel *selection, from uint64) error {
	token, err := g.store.SessionAt(ctx, from)
	if err != nil {
		return fmt.Errorf("gateway: cursor %d: %w", from, err)
	}
	if token != "" && !sel.has(token) {
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the cursor %d is an event of another session", from))
	}
	return nil
}

// checkGone refuses a cursor if events of the selected sessions after it are not
// stored any more. first is the first sequence of the log.
func (g *Gateway) checkGone(ctx context.Context, w http.ResponseWriter, sel *selection, from, first uint64) error {
	gone := sel.match != nil // of all sessions some event is gone
	for _, token := range sel.tokens {
		oldest, err := g.store.FirstEvent(ctx, token)
		if err != nil {
			return fmt.Errorf("gateway: first event of a session: %w", err)
		}
		// Without any event, it is not known whether some followed the cursor. A session that
		// was erased begins with the event that says so.
		gone = gone || oldest.Seq == 0 || oldest.Prev > from && oldest.Type != events.SessionErased
	}
	if !gone {
		return nil
	}
	_, retention := g.store.Retention()
	w.Header().Set(headerFirst, strconv.FormatUint(first, 10))
	w.Header().Set(headerRetention, strconv.FormatInt(int64(retention.Seconds()), 10))
	return respond.Refuse(http.StatusGone, fmt.Sprintf("events after %d are not stored any more: the log begins at %d; connect without a cursor to read what is left", from, first))
}

// parseCursor returns the sequence of the last event that the client has, 0 for
// none. The header, which a browser sends when it reconnects, takes precedence over
// the query of its first request.
func parseCursor(r *http.Request) (uint64, error) {
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		s = r.URL.Query().Get("last_event_id")
	}
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("the cursor %.40q is not the id of an event", s))
	}
	return n, nil
}
