package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// maxTurn is the maximum number of runs in a turn.
const maxTurn = 100

// turn is the last run of a session with the runs that it continues. A run
// continues the run before it if that ended with calls that waited for a person or
// a client, and one of them was answered. Clients show both as one message.
type turn struct {
	from uint64 // the first run starts after this sequence
	run  string // the last run, whose end is the end of the turn
}

// turnsIn returns the handler that streams the last turn of a session in a protocol.
func (g *Gateway) turnsIn(protocol string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p, err := encode.Find(protocol)
		if err != nil {
			return fmt.Errorf("gateway: %w", err)
		}
		return g.serveTurn(w, r, p, nil)
	}
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
			return refuse(http.StatusBadRequest, fmt.Sprintf("%s is not possible with protocol %s: a stream is the whole of a run", name, p.Name))
		}
	}
	after, err := parseInput(query.Get("after"))
	if err != nil {
		return err
	}
	last, found, err := g.lastTurnSoon(r.Context(), token, after)
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
			t, err := g.awaitTurn(ctx, token, last.from, after)
			return g.openingOf(session, t, client), err
		}
	}
	return g.serveStream(w, r, req)
}

// openingOf returns the opening of a stream of a turn.
func (g *Gateway) openingOf(session string, t turn, client *encode.Client) encode.Opening {
	open := g.openingAt(session, t.from)
	open.Run, open.Client = t.run, client
	return open
}

// errRunStarted ends a tail at the start of a run.
var errRunStarted = errors.New("gateway: a run started")

// awaitTurn waits for the next run after a sequence and returns the last turn then:
// only the start of a run shows which run it continues.
func (g *Gateway) awaitTurn(ctx context.Context, token string, from, after uint64) (turn, error) {
	for {
		err := g.store.Tail(ctx, token, from, func(r events.Record, _ bool) error {
			if r.Type != events.RunStarted {
				return nil
			}
			from = r.Seq
			return errRunStarted
		}, nil)
		if !errors.Is(err, errRunStarted) {
			return turn{}, err
		}
		t, found, err := g.lastTurnSoon(ctx, token, after)
		if found || err != nil {
			return t, err
		}
	}
}

// lastTurnSoon returns lastTurn with the timeout of a request to the store.
func (g *Gateway) lastTurnSoon(ctx context.Context, token string, after uint64) (turn, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	t, found, err := g.lastTurn(ctx, token, after)
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
		return 0, refuse(http.StatusBadRequest, fmt.Sprintf("after is %.40q, which is not the sequence of an input", s))
	}
	return n, nil
}

// lastTurn returns the last turn of a session. found is false if there is no run,
// or if all ended before input after: then turn.from is where the next run starts.
func (g *Gateway) lastTurn(ctx context.Context, token string, after uint64) (t turn, found bool, err error) {
	start, err := g.store.LastOf(ctx, token, events.RunStarted)
	if err != nil || start.Seq == 0 {
		return t, false, err
	}
	ends, err := g.runEnds(ctx, token)
	if err != nil {
		return t, false, err
	}
	if n := len(ends); n > 0 && ends[n-1].seq > start.Seq {
		if end := ends[n-1]; end.EventID.Seq < after {
			return turn{from: end.seq}, false, nil
		}
		ends = ends[:n-1]
	}
	var first events.Event
	if err := json.Unmarshal(start.Data, &first); err != nil {
		return t, false, fmt.Errorf("event %d: %w", start.Seq, err)
	}
	t = turn{run: first.Run}
	t.from, err = g.turnStart(ctx, token, ends)
	return t, true, err
}

// turnStart returns the sequence after which a turn starts, where ends are the ends
// of the runs before the last one.
func (g *Gateway) turnStart(ctx context.Context, token string, ends []runEnd) (uint64, error) {
	for i := len(ends) - 1; i >= 0; i-- {
		goesOn, err := g.continued(ctx, token, &ends[i])
		if err != nil || !goesOn || len(ends)-i >= maxTurn {
			return ends[i].seq, err
		}
	}
	return 0, nil
}

// runEnd is the end of a run.
type runEnd struct {
	events.Event
	seq uint64
}

// runEnds returns the ends of the runs of a session, in order.
func (g *Gateway) runEnds(ctx context.Context, token string) (ends []runEnd, err error) {
	err = g.store.EventsOf(ctx, token, events.RunFinished, 0, func(r events.Record) error {
		e := runEnd{seq: r.Seq}
		if err := json.Unmarshal(r.Data, &e.Event); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		ends = append(ends, e)
		return nil
	})
	return ends, err
}

// continued reports whether the run after an end continues the run: one of the calls
// that were open got a real result, or all wait for a person still.
func (g *Gateway) continued(ctx context.Context, token string, end *runEnd) (bool, error) {
	if len(end.Pending) == 0 {
		return false, nil
	}
	answered, closed := false, false
	err := g.store.EventsOf(ctx, token, events.ToolCallResult, end.seq, func(r events.Record) error {
		if !slices.Contains(end.Pending, r.Call) {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(r.Data, &e); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		answered, closed = answered || !e.Synthetic, true
		return nil
	})
	return answered || !closed && end.Status == events.Interrupted, err
}
