package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"streamer/internal/auth"
	"streamer/internal/events"
	"streamer/internal/gateway/respond"
)

const (
	defaultSessions = 100
	maxSessions     = 1000
)

// sessions returns the sessions that have events and that the client may watch,
// newest first.
func (g *Gateway) sessions(w http.ResponseWriter, r *http.Request) error {
	limit, err := parseNumber(r, "limit", defaultSessions, maxSessions)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	id, read := identity(r), int(limit)
	if !id.MayAll(auth.Watch) {
		read = math.MaxInt // the newest sessions may be those of others
	}
	found, err := g.store.Sessions(ctx, read)
	if err != nil {
		return fmt.Errorf("gateway: sessions: %w", err)
	}
	found = slices.DeleteFunc(found, func(s SessionInfo) bool { return !id.May(auth.Watch, s.Session) })
	slices.SortStableFunc(found, func(a, b SessionInfo) int { return b.Last.Compare(a.Last) })
	type row struct {
		Session string      `json:"session"`
		Last    events.Time `json:"last"`
		Open    int         `json:"open"`
		About   string      `json:"about,omitempty"`
	}
	list := []row{} // not nil: JSON must be [], not null
	for _, s := range found[:min(int(limit), len(found))] {
		list = append(list, row{s.Session, events.At(s.Last), s.Open, s.About})
	}
	respond.JSON(w, http.StatusOK, list)
	return nil
}

func (g *Gateway) event(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	e, err := g.namedEvent(ctx, r)
	if err != nil {
		return err
	}
	g.serveValue(w, r, "application/json", fmt.Sprintf(`"%d"`, e.Seq), e.Data)
	return nil
}

// part returns the whole args or result of an event, even if the event only refers
// to a blob: args as the model wrote them, a result as JSON. Access to an event
// includes access to its blobs, and there is no other access to a blob.
func (g *Gateway) part(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("part")
	if name != "args" && name != "result" {
		return respond.Refuse(http.StatusNotFound, fmt.Sprintf("unknown part %q: an event has args and result", name))
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	e, err := g.namedEvent(ctx, r)
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
		return respond.Refuse(http.StatusNotFound, fmt.Sprintf("event %d is not a JSON object", e.Seq))
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
			return respond.Refuse(http.StatusGone, fmt.Sprintf("the %s of event %d is not stored any more", name, e.Seq))
		}
		if err != nil {
			return fmt.Errorf("gateway: %s of event %d: %w", name, e.Seq, err)
		}
	case value == nil:
		return respond.Refuse(http.StatusNotFound, fmt.Sprintf("event %d (%s) has no %s", e.Seq, e.Type, name))
	}
	g.serveValue(w, r, contentType, fmt.Sprintf(`"%d-%s"`, e.Seq, name), value)
	return nil
}

// description returns a handler that sends a description of the interface. It needs no
// token: it has nothing of a session.
func (g *Gateway) description(contentType string, text []byte) handler {
	etag := etagOf(text)
	return func(w http.ResponseWriter, r *http.Request) error {
		g.serveValue(w, r, contentType, etag, text)
		return nil
	}
}

func (g *Gateway) namedEvent(ctx context.Context, r *http.Request) (events.Record, error) {
	_, token, err := sessionOf(r)
	if err != nil {
		return events.Record{}, err
	}
	seq, err := strconv.ParseUint(r.PathValue("seq"), 10, 64)
	if err != nil || seq == 0 {
		return events.Record{}, respond.Refuse(http.StatusBadRequest, "the sequence is not a positive number")
	}
	e, err := g.store.Event(ctx, token, seq)
	if err != nil {
		return events.Record{}, fmt.Errorf("gateway: event %d: %w", seq, err)
	}
	return e, nil
}

// serveValue sends an immutable value. It may come from a model or a tool, so the
// answer keeps the policy under which nothing in it can run.
func (g *Gateway) serveValue(w http.ResponseWriter, r *http.Request, contentType, etag string, value []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(value))
}
