package inspect

import (
	gobytes "bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/gateway/respond"
	"streamer/internal/natsservice"
	"streamer/internal/server"
)

// The number of entries in an answer of the service.
const (
	usualEntries = 100
	maxEntries   = 1000
)

const maxQueries = 16

// Service returns the NATS service that answers what the commands sessions, calls,
// events and doctor print.
func Service(s *server.Server) natsservice.Service {
	q := queries{b: s.Broker, ready: s.Ready, warnings: s.Warnings}
	endpoint := func(name string, answer func(context.Context, query, int) (any, error)) natsservice.Endpoint {
		return natsservice.Endpoint{Name: name, Subject: "streamer." + name, Answer: func(ctx context.Context, request []byte, limit int) ([]byte, error) {
			q, err := parseQuery(request)
			if err != nil {
				return nil, err
			}
			a, err := answer(ctx, q, limit)
			if err != nil {
				return nil, err
			}
			text, err := json.Marshal(a)
			if err == nil && len(text) > limit {
				err = respond.Refuse(413, fmt.Sprintf("the answer has %d bytes, %d are possible: set a smaller limit", len(text), limit))
			}
			return text, err
		}}
	}
	state := endpoint("status", q.status)
	state.Data = func() any { return stateOf(s) }
	return natsservice.Service{
		Name: "streamer", Version: client.Semantic(client.Version()),
		Description: "Sessions, calls, events and the state of streamer",
		AtOnce:      maxQueries,
		Endpoints: []natsservice.Endpoint{
			endpoint("sessions", q.sessions), endpoint("calls", q.calls), endpoint("events", q.events), state,
		},
		Status: status,
	}
}

func status(err error) (int, string) {
	if r, ok := errors.AsType[*respond.Refusal](err); ok {
		return r.Status, r.Text
	}
	if none, ok := errors.AsType[*NoEventsError](err); ok {
		return 404, fmt.Sprintf("there is no event of session %q", none.Session)
	}
	return 503, "the logs cannot be read just now; ask again"
}

type query struct {
	Session string        `json:"session"`
	After   uint64        `json:"after"` // sequence of an event
	Types   []events.Type `json:"types"`
	Limit   int           `json:"limit"` // if zero, usualEntries
}

// parseQuery parses a request; an empty body is {}.
func parseQuery(request []byte) (q query, err error) {
	if len(gobytes.TrimSpace(request)) > 0 {
		d := json.NewDecoder(gobytes.NewReader(request))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			return q, respond.Refuse(400, fmt.Sprintf("invalid request: %v", err))
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return q, respond.Refuse(400, "invalid request: more than one JSON value")
		}
	}
	if q.Limit < 0 || q.Limit > maxEntries {
		return q, respond.Refuse(400, fmt.Sprintf("invalid limit %d: need 1 to %d", q.Limit, maxEntries))
	}
	for _, t := range q.Types {
		if !slices.Contains(events.Types(), t) {
			return q, respond.Refuse(400, fmt.Sprintf("unknown type of events %q", t))
		}
	}
	q.Limit = cmp.Or(q.Limit, usualEntries)
	return q, nil
}

func (q query) token() (string, error) {
	if q.Session == "" {
		return "", respond.Refuse(400, `the request names no session: {"session":"chat-42"}`)
	}
	token, err := events.Token(q.Session)
	if err != nil {
		return "", respond.Refuse(400, fmt.Sprintf("invalid session: %v", err))
	}
	return token, nil
}

type queries struct {
	b        *client.Broker
	ready    func(context.Context) error
	warnings func() []string
}

type sessionsAnswer struct {
	Sessions []sessionEntry `json:"sessions"` // newest first
}

func (q queries) sessions(ctx context.Context, req query, _ int) (any, error) {
	list, err := q.b.Sessions(ctx, req.Limit)
	a := sessionsAnswer{[]sessionEntry{}}
	for _, s := range list {
		a.Sessions = append(a.Sessions, sessionEntry{s.Session, s.Last, s.Open})
	}
	return a, err
}

type callsAnswer struct {
	Calls []*Call `json:"calls"`
	More  bool    `json:"more"` // earlier calls of the session are left out
}

func (q queries) calls(ctx context.Context, req query, _ int) (any, error) {
	if _, err := req.token(); err != nil {
		return nil, err
	}
	list, err := callsOf(ctx, q.b, req.Session)
	from := max(0, len(list)-req.Limit)
	return callsAnswer{append([]*Call{}, list[from:]...), from > 0}, err
}

type eventsAnswer struct {
	Events []eventEntry `json:"events"`
	After  uint64       `json:"after"` // of a request for the events that follow
	More   bool         `json:"more"`
}

type eventEntry struct {
	Seq   uint64          `json:"seq"`
	Event json.RawMessage `json:"event"` // as it is stored
}

// entryBytes is the maximum size of what a eventEntry has besides the event, and
// answerBytes that of an answer.
const (
	entryBytes  = 64
	answerBytes = 256
)

var errEnough = errors.New("enough events")

func (q queries) events(ctx context.Context, req query, limit int) (any, error) {
	token, err := req.token()
	if err != nil {
		return nil, err
	}
	a, size := eventsAnswer{Events: []eventEntry{}, After: req.After}, answerBytes
	err = q.b.Events(ctx, token, req.After, func(r events.Record) error {
		if r.Type == events.Synthetic || len(req.Types) > 0 && !slices.Contains(req.Types, r.Type) {
			a.After = r.Seq
			return nil
		}
		if size += entryBytes + len(r.Data); size > limit || len(a.Events) == req.Limit {
			a.More = true
			return errEnough
		}
		a.Events, a.After = append(a.Events, eventEntry{r.Seq, r.Data}), r.Seq
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return nil, err
	case a.More && len(a.Events) == 0:
		return nil, respond.Refuse(413, fmt.Sprintf("the event after %d is larger than an answer, which has at most %d bytes: read it over HTTP or from the stream TOOLCALLS", a.After, limit))
	case a.After == 0:
		return nil, &NoEventsError{req.Session}
	}
	return a, nil
}

type statusAnswer struct {
	Ready    bool     `json:"ready"` // of the process that answers
	Error    string   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Checks   Findings `json:"checks"` // as doctor prints them
}

const statusTime = 5 * time.Second

func (q queries) status(ctx context.Context, _ query, _ int) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	a := statusAnswer{Ready: true, Warnings: q.warnings(), Checks: examine(ctx, q.b)}
	if err := q.ready(ctx); err != nil {
		a.Ready, a.Error = false, err.Error()
	}
	return a, nil
}
