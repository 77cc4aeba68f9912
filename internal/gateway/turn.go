package gateway

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"streamer/internal/encode"
	"streamer/internal/gateway/respond"
	"streamer/internal/gateway/turns"
)

func (g *Gateway) turn(protocol string) handler {
	return func(w http.ResponseWriter, r *http.Request) error { return foreignAPI{g}.Turn(w, r, protocol, nil) }
}

// serveTurn streams the last turn of a session, in a protocol ByRun. client is what
// the client sent about itself, if anything. Where there is no turn that the client lacks,
// the answer is 204, unless it waits for the next run, or for the one that an input belongs
// to, or clients of the protocol wait for a run.
func (g *Gateway) serveTurn(w http.ResponseWriter, r *http.Request, p *encode.Protocol, client *encode.Client) error {
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	if query.Has("types") {
		return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("types is not possible with protocol %s: a stream is the whole of a run", p.Name))
	}
	at, err := g.parseSeen(r, p)
	if err != nil {
		return err
	}
	last, found, err := g.lastTurn(r.Context(), token, at)
	if err != nil {
		return err
	}
	from := last.From
	next := func(ctx context.Context) (turns.Turn, error) { return g.awaitTurn(ctx, token, from, at) }
	if !found && at.input == 0 && !p.Waits {
		if query.Has("wait") {
			last, found, err = g.poll(w, r, next)
		}
		if !found || err != nil {
			return noContent(w, err)
		}
	}
	open := func(ctx context.Context, t turns.Turn) (encode.Opening, error) {
		o := g.openingAt(session, t.From)
		o.Run, o.Client = t.Run, client
		var err error
		if t.From > 0 || client != nil {
			o.Earlier, o.Stored, err = g.messageIDs(ctx, token, t.From)
		}
		return o, err
	}
	req := request{proto: p, token: token, open: g.openingAt(session, from)}
	if found {
		req.open, err = open(r.Context(), last)
	} else {
		req.await = func(ctx context.Context) (encode.Opening, error) {
			t, err := next(ctx)
			if err != nil {
				return encode.Opening{}, err
			}
			return open(ctx, t)
		}
	}
	if err != nil {
		return err
	}
	return g.serveStream(w, r, req)
}

func noContent(w http.ResponseWriter, err error) error {
	if err == nil {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// seen is what a client has of the turns of a session: those that ended before an input, or
// of which all events are up to a sequence.
type seen struct{ input, seq uint64 }

// parseSeen reads what a client has. By default it is nothing, or each turn that has ended
// if clients of the protocol ask only for an open one.
func (g *Gateway) parseSeen(r *http.Request, p *encode.Protocol) (at seen, err error) {
	if at.input, err = parseInput(r.URL.Query().Get("after")); err != nil || at.input > 0 {
		return at, err
	}
	if at.seq, err = parseCursor(r); err != nil {
		return at, err
	}
	if at.seq == 0 && p.OpenOnly && !r.URL.Query().Has("last_event_id") {
		return seen{seq: math.MaxUint64}, nil
	}
	return at, foreignAPI{g}.checkCursor(r.Context(), at.seq)
}

// poll waits for the next turn until a heartbeat would be due. It counts as a stream.
func (g *Gateway) poll(w http.ResponseWriter, r *http.Request, next func(context.Context) (turns.Turn, error)) (t turns.Turn, found bool, err error) {
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	leave, err := g.hold(w, r, &end, end)
	if err != nil {
		return t, false, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, g.opts.Heartbeat)
	defer cancel()
	if t, err = next(ctx); ctx.Err() != nil {
		return t, false, nil // the client polls again
	}
	return t, err == nil, err
}

// awaitTurn waits for the next run after a sequence and returns the last turn then:
// only the start of a run shows which run it continues.
func (g *Gateway) awaitTurn(ctx context.Context, token string, from uint64, at seen) (turns.Turn, error) {
	at.seq = min(at.seq, from) // a short run may have ended meanwhile
	for {
		start, err := turns.Next(ctx, g.store, token, from)
		if err != nil {
			return turns.Turn{}, err
		}
		t, found, err := g.lastTurn(ctx, token, at)
		if found || err != nil {
			return t, err
		}
		from = start
	}
}

// lastTurn returns the last turn of a session, unless the client has it. Then, or if there
// is none, From is where the next run starts.
func (g *Gateway) lastTurn(ctx context.Context, token string, at seen) (turns.Turn, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	t, found, err := turns.Last(ctx, g.store, token, at.input)
	if err != nil {
		return t, false, fmt.Errorf("gateway: runs of a session: %w", err)
	}
	if found && t.End > 0 && t.End <= at.seq {
		return turns.Turn{From: t.End}, false, nil
	}
	return t, found, nil
}

// messageIDs returns turns.MessageIDs with the timeout of a request to the store.
func (g *Gateway) messageIDs(ctx context.Context, token string, from uint64) (earlier, later map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	if earlier, later, err = turns.MessageIDs(ctx, g.store, token, from); err != nil {
		err = fmt.Errorf("gateway: messages of a session: %w", err)
	}
	return earlier, later, err
}

// parseInput returns the sequence of an input, 0 for "".
func parseInput(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n == 0 {
		return 0, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("after is %.40q, which is not the sequence of an input", s))
	}
	return n, nil
}
