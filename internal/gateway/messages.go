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
	"streamer/internal/gateway/respond"
	"streamer/internal/gateway/turns"
)

const (
	defaultTurns = 100
	maxTurns     = 1000
	// maxPage is the maximum size of the events of a page, with their large values, in bodies
	// of the maximum size.
	maxPage = 32
)

// messagePage is a part of a session: turns that follow each other.
type messagePage struct {
	Session  string            `json:"session"`
	Messages []json.RawMessage `json:"messages"`
	Cursor   uint64            `json:"cursor"`           // the last event that the messages show
	Before   uint64            `json:"before,omitempty"` // names the page before this one
}

// messages returns the last turns of a session, or those before a page, as messages. It
// counts as a stream.
func (g *Gateway) messages(w http.ResponseWriter, r *http.Request) error {
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	shape, err := encode.FindHistory(query.Get("format"))
	if err != nil {
		return respond.Refuse(http.StatusBadRequest, err.Error())
	}
	limit, err := parseNumber(r, "limit", defaultTurns, maxTurns)
	if err != nil {
		return err
	}
	before, err := parseNumber(r, "before", 0, 1<<63)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	leave, err := g.hold(w, r, &end, end)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, g.opts.StoreTimeout)
	defer cancel()
	list, err := turns.List(ctx, g.store, token)
	if err != nil {
		return fmt.Errorf("gateway: runs of a session: %w", err)
	}
	part := slices.DeleteFunc(slices.Clone(list), func(t turns.Turn) bool { return before > 0 && t.From >= before })
	part = part[max(0, len(part)-int(limit)):]
	p := messagePage{Session: session}
	log, err := g.eventsOf(ctx, token, part, before)
	if err != nil {
		return err
	}
	for _, s := range log {
		p.Cursor = max(p.Cursor, s.Seq)
	}
	if len(part) > 0 {
		p.Before = part[0].From // 0 for the first turn
	}
	earlier, _, err := turns.MessageIDs(ctx, g.store, token, p.Before)
	if err != nil {
		return fmt.Errorf("gateway: messages of a session: %w", err)
	}
	var shown []encode.Turn
	for _, t := range part {
		shown = append(shown, encode.Turn{From: t.From, Run: t.Run})
	}
	if p.Messages, err = shape.Messages(session, shown, log, earlier); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	respond.JSON(w, http.StatusOK, p)
	return nil
}

// eventsOf returns the events of turns, up to those of the page that begins after before,
// and the results behind it of calls that were open.
func (g *Gateway) eventsOf(ctx context.Context, token string, part []turns.Turn, before uint64) (log []encode.Stored, err error) {
	var from, start uint64
	if len(part) > 0 {
		from, start = part[0].From, part[len(part)-1].Start
	}
	left, calls := maxPage*g.opts.MaxBody, map[string]bool{}
	add := func(r events.Record) error {
		e, err := g.inline(ctx, encode.Parse(r))
		if err != nil {
			return err
		}
		if left -= len(r.Data) + len(e.ToolResult) + len(e.ToolArgs); left < 0 {
			return respond.Refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("these turns have more than %d bytes: ask for fewer with limit", maxPage*g.opts.MaxBody))
		}
		log = append(log, encode.Stored{Record: r, Event: e})
		if r.Call != "" {
			calls[r.Call] = r.Type != events.ToolCallResult
		}
		return nil
	}
	err = g.store.Tail(ctx, token, from, func(r events.Record, _ bool) error {
		// A run that started after the turns were listed is for the stream from the cursor.
		if r.Seq == 0 || before > 0 && r.Seq > before || r.Type == events.RunStarted && r.Seq > start {
			return errBatch
		}
		return add(r)
	}, nil)
	if err != nil && !errors.Is(err, errBatch) {
		return nil, storeError(err)
	}
	if before == 0 {
		return log, nil
	}
	err = g.store.EventsOf(ctx, token, events.ToolCallResult, before, func(r events.Record) error {
		if !calls[r.Call] {
			return nil
		}
		return add(r)
	})
	return log, storeError(err)
}

func storeError(err error) error {
	if _, refused := errors.AsType[*respond.Refusal](err); refused || err == nil {
		return err
	}
	return fmt.Errorf("gateway: events of a session: %w", err)
}

// parseNumber returns a parameter from 1 to most, or other without it.
func parseNumber(r *http.Request, name string, other, most uint64) (uint64, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return other, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, respond.Refuse(http.StatusBadRequest, fmt.Sprintf("%s is %.40q, not a number from 1 to %d", name, s, most))
	}
	return n, nil
}
