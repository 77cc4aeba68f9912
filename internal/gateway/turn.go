package gateway

import (
	"context"
	"fmt"
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
// the client sent about itself, if anything. A session without runs is answered with
// 204, unless the client waits for the run that an input belongs to, or clients of the
// protocol wait for the first run.
func (g *Gateway) serveTurn(w http.ResponseWriter, r *http.Request, p *encode.Protocol, client *encode.Client) error {
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	for _, name := range []string{"types", "last_event_id"} {
		if query.Has(name) {
			return respond.Refuse(http.StatusBadRequest, fmt.Sprintf("%s is not possible with protocol %s: a stream is the whole of a run", name, p.Name))
		}
	}
	after, err := parseInput(query.Get("after"))
	if err != nil {
		return err
	}
	last, found, err := g.lastTurn(r.Context(), token, after)
	if err != nil {
		return err
	}
	if !found && after == 0 && !p.Waits {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	req := request{proto: p, token: token, open: g.openingOf(session, last, client)}
	if !found {
		req.await = func(ctx context.Context) (encode.Opening, error) {
			t, err := g.awaitTurn(ctx, token, last.From, after)
			return g.openingOf(session, t, client), err
		}
	}
	return g.serveStream(w, r, req)
}

func (g *Gateway) openingOf(session string, t turns.Turn, client *encode.Client) encode.Opening {
	open := g.openingAt(session, t.From)
	open.Run, open.Client = t.Run, client
	return open
}

// awaitTurn waits for the next run after a sequence and returns the last turn then:
// only the start of a run shows which run it continues.
func (g *Gateway) awaitTurn(ctx context.Context, token string, from, after uint64) (turns.Turn, error) {
	for {
		start, err := turns.Next(ctx, g.store, token, from)
		if err != nil {
			return turns.Turn{}, err
		}
		t, found, err := g.lastTurn(ctx, token, after)
		if found || err != nil {
			return t, err
		}
		from = start
	}
}

// lastTurn returns turns.Last with the timeout of a request to the store.
func (g *Gateway) lastTurn(ctx context.Context, token string, after uint64) (turns.Turn, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	t, found, err := turns.Last(ctx, g.store, token, after)
	if err != nil {
		return t, false, fmt.Errorf("gateway: runs of a session: %w", err)
	}
	return t, found, nil
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
