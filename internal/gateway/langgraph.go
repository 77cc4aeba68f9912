package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/inputs"
)

const (
	maxFilter   = 64 << 10 // maximum size of the filter of a thread stream
	maxPrefixes = 100      // maximum number of channels, and of namespaces, in it
	maxRuns     = 1000     // maximum number of runs in a list
)

// threadRoutes adds the paths that clients of LangGraph use to read: a thread is a
// session.
func (g *Gateway) threadRoutes(api func(path, methods string, h handler)) {
	const thread = "/v1/langgraph/threads/{session}"
	api(thread, "GET", g.thread)
	api(thread+"/state", "GET", g.threadState)
	api(thread+"/history", "POST", g.threadHistory)
	api(thread+"/runs", "GET", g.threadRuns)
	api(thread+"/runs/{run}", "GET", g.threadRun)
	api(thread+"/runs/{run}/stream", "GET", g.joinRun)
	api(thread+"/runs/{run}/cancel", "POST", g.cancelRun)
	api(thread+"/stream/events", "POST", g.threadEvents)
}

// sessionRun is a run of a session.
type sessionRun struct {
	id           string
	before       uint64        // sequence of the end of the run before it, 0 if it is the first
	start        uint64        // of its start
	end          uint64        // of its end, 0 if it is open
	status       events.Status // of its end
	begun, ended events.Time
}

// runsOf returns the runs of a session, in order.
func (g *Gateway) runsOf(ctx context.Context, token string) (runs []sessionRun, err error) {
	err = g.store.EventsOf(ctx, token, events.RunStarted, 0, func(r events.Record) error {
		var e events.Event
		if err := json.Unmarshal(r.Data, &e); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		runs = append(runs, sessionRun{id: e.Run, start: r.Seq, begun: e.Timestamp, ended: e.Timestamp})
		return nil
	})
	if err != nil {
		return nil, err
	}
	ends, err := g.runEnds(ctx, token)
	if err != nil {
		return nil, err
	}
	for _, end := range ends {
		i := slices.IndexFunc(runs, func(r sessionRun) bool { return r.id == end.Run && r.end == 0 && r.start < end.seq })
		if i >= 0 {
			runs[i].end, runs[i].status, runs[i].ended = end.seq, end.Status, end.Timestamp
		}
	}
	for i := range runs[min(1, len(runs)):] {
		runs[i+1].before = max(runs[i].start, runs[i].end) // what was asked between them belongs to the later one
	}
	return runs, nil
}

// lgStatus returns the status of a run in the terms of LangGraph.
func (r *sessionRun) lgStatus() string {
	switch {
	case r.end == 0:
		return "running"
	case r.status == events.Error:
		return "error"
	case r.status == events.Completed:
		return "success"
	}
	return "interrupted"
}

// readRuns returns the session of a request, its token and its runs.
func (g *Gateway) readRuns(r *http.Request) (session, token string, runs []sessionRun, err error) {
	if session, token, err = sessionOf(r); err != nil {
		return "", "", nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	if runs, err = g.runsOf(ctx, token); err != nil {
		return "", "", nil, fmt.Errorf("gateway: runs of a session: %w", err)
	}
	return session, token, runs, nil
}

// namedRun returns the run that a request names: the last run with its id.
func (g *Gateway) namedRun(r *http.Request) (session, token string, run sessionRun, err error) {
	session, token, runs, err := g.readRuns(r)
	if err != nil {
		return "", "", run, err
	}
	id := r.PathValue("run")
	for _, run := range slices.Backward(runs) {
		if run.id == id {
			return session, token, run, nil
		}
	}
	return "", "", run, refuse(http.StatusNotFound, fmt.Sprintf("the session has no run %.80q in the log", id))
}

// joinRun streams a run. The client reconnects to the path in Location, with the id
// of the last frame that it has.
func (g *Gateway) joinRun(w http.ResponseWriter, r *http.Request) error {
	p, err := encode.Find("langgraph")
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	session, token, run, err := g.namedRun(r)
	if err != nil {
		return err
	}
	since, err := parseCursor(r)
	if err != nil {
		return err
	}
	if err := g.checkCursor(r.Context(), since); err != nil {
		return err
	}
	open := g.openingAt(session, run.before)
	open.Run, open.Since = run.id, since
	path := "/threads/" + url.PathEscape(session) + "/runs/" + url.PathEscape(run.id)
	header := [][2]string{{"Location", path + "/stream"}, {"Content-Location", path}} // clients add them to the base URL
	return g.serveStream(w, r, request{proto: p, token: token, open: open, header: header})
}

// checkCursor refuses a cursor that is not in the log.
func (g *Gateway) checkCursor(ctx context.Context, since uint64) error {
	if since == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	_, last, err := g.store.EventBounds(ctx)
	if err != nil {
		return fmt.Errorf("gateway: bounds of the event log: %w", err)
	}
	if since > last {
		return refuse(http.StatusBadRequest, fmt.Sprintf("the log ends at %d, before the cursor %d: it is the cursor of another log", last, since))
	}
	return nil
}

// threadEvents streams a session in the agent protocol, as far as the filter in the
// body selects it.
func (g *Gateway) threadEvents(w http.ResponseWriter, r *http.Request) error {
	p, err := encode.Find("agent-protocol")
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	filter, since, err := readFilter(w, r)
	if err != nil {
		return err
	}
	if err := g.checkCursor(r.Context(), since); err != nil {
		return err
	}
	open := g.openingAt(session, 0)
	open.Filter, open.Since = filter, since
	return g.serveStream(w, r, request{proto: p, token: token, open: open})
}

// readFilter reads the body of a request for a thread stream.
func readFilter(w http.ResponseWriter, r *http.Request) (f encode.Filter, since uint64, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFilter))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return f, 0, tooLarge(maxFilter)
	}
	if err != nil {
		return f, 0, refuse(http.StatusBadRequest, "the body is incomplete")
	}
	var in struct {
		Channels   []string   `json:"channels"`
		Namespaces [][]string `json:"namespaces"`
		Depth      *int       `json:"depth"`
		Since      uint64     `json:"since"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return f, 0, refuse(http.StatusBadRequest, fmt.Sprintf("the body is not a filter {\"channels\":[…],\"namespaces\":[[…]],\"depth\":1,\"since\":1}: %v", err))
	}
	if len(in.Channels) == 0 {
		return f, 0, refuse(http.StatusBadRequest, `channels is empty: name messages, tools, lifecycle or input`)
	}
	if len(in.Channels) > maxPrefixes || len(in.Namespaces) > maxPrefixes {
		return f, 0, refuse(http.StatusBadRequest, fmt.Sprintf("more than %d channels or namespaces", maxPrefixes))
	}
	return encode.Filter{Channels: in.Channels, Namespaces: in.Namespaces, Depth: in.Depth}, in.Since, nil
}

// cancelRun stores an interrupt of the run.
func (g *Gateway) cancelRun(w http.ResponseWriter, r *http.Request) error {
	_, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	switch action := r.URL.Query().Get("action"); action {
	case "", "interrupt":
	default:
		return refuse(http.StatusBadRequest, fmt.Sprintf("action is %.40q: only interrupt is possible", action))
	}
	msgID, err := messageID(r, token, inputs.Interrupt)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"run": r.PathValue("run"), "reason": "user"})
	if err != nil {
		return fmt.Errorf("gateway: interrupt: %w", err)
	}
	if body, err = g.checkBody(inputs.Interrupt, body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	if _, err := g.store.Publish(ctx, token, inputs.Interrupt, msgID, inputs.Header{}, body); err != nil {
		return g.publishError(w, r.PathValue("session"), inputs.Interrupt, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// limitOf returns the limit of a list.
func limitOf(r *http.Request, limit int) (int, error) {
	s := r.URL.Query().Get("limit")
	if s == "" {
		return limit, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxRuns {
		return 0, refuse(http.StatusBadRequest, fmt.Sprintf("limit is not a number from 1 to %d", maxRuns))
	}
	return n, nil
}
