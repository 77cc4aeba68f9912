package gateway

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/gateway/respond"
)

const (
	retryMin = 2 * time.Second // minimum reconnection delay of a client
	retryVar = 3 * time.Second // maximum random addition to it
	maxTypes = 32
)

func (g *Gateway) events(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	p, err := encode.Find(query.Get("protocol"))
	if err != nil {
		return respond.Refuse(http.StatusBadRequest, err.Error())
	}
	if p.ByRun {
		return g.serveTurn(w, r, p, nil)
	}
	if p.Whole && query.Has("types") {
		return respond.Refuse(http.StatusBadRequest, "types is not possible with protocol "+p.Name)
	}
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	types, err := parseTypes(query.Get("types"))
	if err != nil {
		return err
	}
	from, err := parseCursor(r)
	if err != nil {
		return err
	}
	open, err := g.opening(w, r, &selection{tokens: []string{token}}, from)
	if err != nil {
		return err
	}
	open.Session = session
	if p.Whole {
		open.From, open.Since = 0, open.From
	}
	return g.serveStream(w, r, request{proto: p, token: token, types: types, open: open})
}

// request is what a client asks for: a stream of a protocol.
type request struct {
	proto *encode.Protocol
	token string               // of the session; "" if there are several
	many  *selection           // nil for one session
	types map[events.Type]bool // nil means all
	open  encode.Opening
	// header has headers of the answer besides those of the protocol, as pairs of name
	// and value.
	header [][2]string
	// await waits until it is known where the stream begins. nil means that open
	// states it.
	await func(context.Context) (encode.Opening, error)
}

// serveStream serves a stream until it is complete, the client disconnects, or the
// server ends it. A stream on a connection that is taken over goes on after the return.
func (g *Gateway) serveStream(w http.ResponseWriter, r *http.Request, req request) error {
	ctx, end, cancel := streamContext(identity(r).Expires)
	s := newStream(g, &req, end)
	leave, err := g.hold(w, r, s, end)
	if err != nil {
		cancel()
		return err
	}
	done := func() {
		leave()
		cancel()
	}
	s.setHeader(w.Header(), &req)
	if c := takeOver(w, r, g.server.Load() != nil, &g.counts.sent); c != nil {
		s.body = c
		s.conn.Store(c)
		go func() { // Run waits until the stream is removed
			defer done()
			g.serveConnection(ctx, s, c, &req)
		}()
		return nil
	}
	defer done()
	g.serveResponse(ctx, s, w, r, &req)
	return nil
}

// hold counts a stream, which end ends. It refuses one above a limit, or if the server
// stops. The caller calls leave after it.
func (g *Gateway) hold(w http.ResponseWriter, r *http.Request, one any, end context.CancelCauseFunc) (leave func(), err error) {
	admitted, err := g.admit(w, r)
	if err != nil {
		return nil, err
	}
	if err := g.streams.add(one, end); err != nil {
		admitted()
		w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		return nil, respond.Refuse(http.StatusServiceUnavailable, unavailableText(err, "streams", g.opts.MaxClients))
	}
	return func() {
		g.streams.remove(one)
		admitted()
	}, nil
}

// streamContext returns the context of a stream, which ends when the token of its
// client expires. It is not that of the request, which ends when net/http gives the
// connection away. The caller calls cancel.
func streamContext(expires time.Time) (ctx context.Context, end context.CancelCauseFunc, cancel func()) {
	base, free := context.Background(), func() {}
	if !expires.IsZero() {
		base, free = context.WithDeadlineCause(base, expires, errExpired)
	}
	ctx, end = context.WithCancelCause(base)
	return ctx, end, func() { end(nil); free() }
}

func (g *Gateway) serveResponse(ctx context.Context, s *stream, w http.ResponseWriter, r *http.Request, req *request) {
	s.body = newResponse(w, &g.counts.sent)
	if r.Method == http.MethodHead {
		return
	}
	stop := context.AfterFunc(r.Context(), func() { s.end(context.Cause(r.Context())) })
	defer stop()
	if !s.serve(ctx, req) {
		panic(http.ErrAbortHandler) // net/http closes the connection without an end of the body
	}
}

// serveConnection serves a stream on a connection that was taken over. Like net/http,
// it limits a panic to the connection.
func (g *Gateway) serveConnection(ctx context.Context, s *stream, c *connection, req *request) {
	orderly := false
	defer func() {
		if p := recover(); p != nil {
			g.log.Error().Interface("panic", p).Str("session", s.session).Bytes("stack", debug.Stack()).Msg("stream failed")
		}
		c.end(orderly, time.Now().Add(g.opts.WriteTimeout), g.reuse)
	}()
	c.watch(func() { s.end(errDisconnected) })
	orderly = s.serve(ctx, req)
}

// unavailableText returns the reason why another stream or body is not accepted.
func unavailableText(err error, what string, limit int) string {
	if errors.Is(err, errTooManyStreams) {
		return fmt.Sprintf("%d %s are open, which is the maximum; try again", limit, what)
	}
	return "the server is shutting down; try again"
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

// parseTypes reads a list of event types. nil means all types.
func parseTypes(list string) (map[events.Type]bool, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if len(names) > maxTypes {
		return nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("types has more than %d names", maxTypes))
	}
	var known []string
	for _, t := range events.Types() {
		known = append(known, string(t))
	}
	types := map[events.Type]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("types has %.40q, which is not an event type; the types are %s",
				name, strings.Join(known, ", ")))
		}
		types[events.Type(name)] = true
	}
	return types, nil
}
