package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// headerFirst is the header of a 410 answer with the sequence of the log's first
// event.
const headerFirst = "Streamer-First-Seq"

const (
	retryMin = 2 * time.Second // minimum reconnection delay of a client
	retryVar = 3 * time.Second // maximum random addition to it
	maxTypes = 32
)

// events streams the events of a session in the protocol that the request names.
func (g *Gateway) events(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	p, err := encode.Find(query.Get("protocol"))
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	if p.ByRun {
		return g.serveTurn(w, r, p, nil)
	}
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	types, err := parseTypes(query.Get("types"))
	if err != nil {
		return err
	}
	open, err := g.opening(w, r, session)
	if err != nil {
		return err
	}
	return g.serveStream(w, r, request{proto: p, token: token, types: types, open: open})
}

// request is what a client asks for: a stream of a protocol.
type request struct {
	proto *encode.Protocol
	token string               // of the session
	types map[events.Type]bool // nil means all
	open  encode.Opening
	// await waits until it is known where the stream begins. nil means that open
	// states it.
	await func(context.Context) (encode.Opening, error)
}

// serveStream serves a stream until it is complete, the client disconnects, or the
// server ends it.
func (g *Gateway) serveStream(w http.ResponseWriter, r *http.Request, req request) error {
	leave, err := g.admit(w, r)
	if err != nil {
		return err
	}
	defer leave()
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	s := newStream(g, w, req.proto, end)
	s.session, s.types, s.last = req.open.Session, req.types, req.open.From
	if err := g.streams.add(s, end); err != nil {
		w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		return refuse(http.StatusServiceUnavailable, unavailableText(err, g.opts.MaxClients))
	}
	defer g.streams.remove(s)
	s.serve(ctx, r, req)
	return nil
}

// unavailableText returns the reason why a stream cannot be opened.
func unavailableText(err error, limit int) string {
	if errors.Is(err, errTooManyStreams) {
		return fmt.Sprintf("%d streams are open, which is the maximum; try again", limit)
	}
	return "the server is shutting down; try again"
}

// opening reads the client's cursor and checks that the log still has the events
// after it.
func (g *Gateway) opening(w http.ResponseWriter, r *http.Request, session string) (encode.Opening, error) {
	from, err := parseCursor(r)
	if err != nil {
		return encode.Opening{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	first, last, err := g.store.EventBounds(ctx)
	if err != nil {
		return encode.Opening{}, fmt.Errorf("gateway: bounds of the event log: %w", err)
	}
	if from > last {
		return encode.Opening{}, refuse(http.StatusBadRequest, fmt.Sprintf("the log ends at %d, before the cursor %d: it is the cursor of another log", last, from))
	}
	if from > 0 && from+1 < first {
		w.Header().Set(headerFirst, strconv.FormatUint(first, 10))
		return encode.Opening{}, refuse(http.StatusGone, fmt.Sprintf("events after %d are not stored any more: the log begins at %d; connect without a cursor to read what is left", from, first))
	}
	open := g.openingAt(session, from)
	open.First, open.Last = first, last
	return open, nil
}

// openingAt returns the opening of a stream of the events after sequence from.
func (g *Gateway) openingAt(session string, from uint64) encode.Opening {
	return encode.Opening{
		Session: session, From: from,
		Now:         events.At(time.Now()),
		HeartbeatMS: g.opts.Heartbeat.Milliseconds(),
		RetryMS:     (retryMin + rand.N(retryVar)).Milliseconds(),
	}
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
		return 0, refuse(http.StatusBadRequest, fmt.Sprintf("the cursor %.40q is not the id of an event", s))
	}
	return n, nil
}

// parseTypes reads a list of event types. nil means all types.
func parseTypes(list string) (map[events.Type]bool, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if len(names) > maxTypes {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf("types has more than %d names", maxTypes))
	}
	var known []string
	for _, t := range events.Types() {
		known = append(known, string(t))
	}
	types := map[events.Type]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf("types has %.40q, which is not an event type; the types are %s",
				name, strings.Join(known, ", ")))
		}
		types[events.Type(name)] = true
	}
	return types, nil
}
