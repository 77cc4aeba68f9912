package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"streamer/internal/events"
)

const (
	defaultSessions = 100
	maxSessions     = 1000
)

// sessions lists the sessions that have events, newest first.
func (g *Gateway) sessions(w http.ResponseWriter, r *http.Request) error {
	limit := defaultSessions
	if s := r.URL.Query().Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxSessions {
			return refuse(http.StatusBadRequest, fmt.Sprintf("limit is not a number from 1 to %d", maxSessions))
		}
		limit = n
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	found, err := g.store.Sessions(ctx, limit)
	if err != nil {
		return fmt.Errorf("gateway: sessions: %w", err)
	}
	slices.SortStableFunc(found, func(a, b SessionInfo) int { return b.Last.Compare(a.Last) })
	type line struct {
		Session string      `json:"session"`
		Last    events.Time `json:"last"`
		Open    int         `json:"open"`
	}
	list := []line{} // never null
	for _, s := range found[:min(limit, len(found))] {
		list = append(list, line{s.Session, events.At(s.Last), s.Open})
	}
	reply(w, http.StatusOK, list)
	return nil
}

// event gives one event as it is stored.
func (g *Gateway) event(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	e, err := g.stored(ctx, r)
	if err != nil {
		return err
	}
	g.serveValue(w, r, "application/json", fmt.Sprintf(`"%d"`, e.Seq), e.Data)
	return nil
}

// part gives the args or the result in an event whole, also where the event
// only refers to it: args as the model wrote them, a result as JSON. Who may
// read the event may read its values, and nothing else is reached by them.
func (g *Gateway) part(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("part")
	if name != "args" && name != "result" {
		return refuse(http.StatusNotFound, fmt.Sprintf("an event has args and result, not %q", name))
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	e, err := g.stored(ctx, r)
	if err != nil {
		return err
	}
	var in struct {
		ArgsText  *string         `json:"args_text"`
		ArgsRef   *events.Ref     `json:"args_ref"`
		Result    json.RawMessage `json:"tool_result"`
		ResultRef *events.Ref     `json:"tool_result_ref"`
	}
	if err := json.Unmarshal(e.Data, &in); err != nil {
		return refuse(http.StatusNotFound, fmt.Sprintf("event %d is no object", e.Seq))
	}
	contentType, ref, value := "application/json", in.ResultRef, []byte(in.Result)
	if name == "args" {
		contentType, ref, value = "text/plain; charset=utf-8", in.ArgsRef, nil
		if in.ArgsText != nil {
			value = []byte(*in.ArgsText)
		}
	}
	switch {
	case ref != nil:
		value, err = g.store.Blob(ctx, *ref)
		if errors.Is(err, events.ErrNotFound) {
			return refuse(http.StatusGone, fmt.Sprintf("the %s of event %d is not stored any more", name, e.Seq))
		}
		if err != nil {
			return fmt.Errorf("gateway: %s of event %d: %w", name, e.Seq, err)
		}
	case value == nil:
		return refuse(http.StatusNotFound, fmt.Sprintf("event %d (%s) has no %s", e.Seq, e.Type, name))
	}
	g.serveValue(w, r, contentType, fmt.Sprintf(`"%d-%s"`, e.Seq, name), value)
	return nil
}

func (g *Gateway) stored(ctx context.Context, r *http.Request) (events.Record, error) {
	_, token, err := sessionOf(r)
	if err != nil {
		return events.Record{}, err
	}
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err != nil || seq == 0 {
		return events.Record{}, refuse(http.StatusBadRequest, "the sequence is not a positive number")
	}
	e, err := g.store.Event(ctx, token, seq)
	if err != nil {
		return events.Record{}, fmt.Errorf("gateway: event %d: %w", seq, err)
	}
	return e, nil
}

// serveValue sends what never changes. It comes from models and tools, so
// the policy of all answers but the page's holds: nothing in it may run.
func (g *Gateway) serveValue(w http.ResponseWriter, r *http.Request, contentType, etag string, value []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(value))
}
