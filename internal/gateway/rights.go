package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"streamer/internal/auth"
	"streamer/internal/gateway/respond"
)

// needs returns the rights that a client needs for a path. A path that is only read
// needs the right to watch, and any other path that is not listed needs all rights.
// own states that the handler checks the rights itself.
func needs(path, methods string) (actions []auth.Action, own bool) {
	switch path {
	case "/v1/sessions", "/v1/repair", metricsPath:
		return nil, true
	case "/v1/sessions/{session}/deltas", "/v1/sessions/{session}/results",
		"/v1/sessions/{session}/progress", "/v1/sessions/{session}/end":
		return []auth.Action{auth.Publish}, false
	case "/v1/sessions/{session}/answer", "/v1/langgraph/threads/{session}/commands", "/v1/ai-sdk/{session}":
		return []auth.Action{auth.Answer}, false
	case "/v1/sessions/{session}/interrupt", "/v1/sessions/{session}/resume", "/v1/langgraph/threads/{session}/runs/{run}/cancel":
		return []auth.Action{auth.Interrupt}, false
	case sessionPath:
		return []auth.Action{auth.Erase}, false
	case "/v1/ag-ui/{session}", "/v1/langgraph/threads/{session}/history", "/v1/langgraph/threads/{session}/stream/events":
		return []auth.Action{auth.Watch}, false // clients of these protocols read with POST
	}
	if methods == http.MethodGet {
		return []auth.Action{auth.Watch}, false
	}
	return []auth.Action{auth.Watch, auth.Publish, auth.Interrupt, auth.Answer, auth.Erase}, false
}

// permitted returns a handler that in addition requires the rights that a path needs:
// on the session in the path, on those that the query of manySessions selects, or on
// all sessions.
func permitted(path, methods string, h handler) handler {
	actions, own := needs(path, methods)
	if own {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		var sessions []string
		switch {
		case strings.Contains(path, "{session}"):
			session, _, err := sessionOf(r)
			if err != nil {
				return err
			}
			sessions = []string{session}
		case path == manySessions && r.URL.Query().Has("pattern"):
			for _, p := range r.URL.Query()["pattern"] {
				if !identity(r).MayPattern(auth.Watch, p) {
					return respond.Refuse(http.StatusForbidden, fmt.Sprintf("the token does not permit to watch all sessions that match %.100q", p))
				}
			}
			return h(w, r)
		case path == manySessions:
			sessions = r.URL.Query()["session"]
		}
		for _, a := range actions {
			if err := permit(r, a, sessions); err != nil {
				return err
			}
		}
		return h(w, r)
	}
}

// manySessions is the path of streams of the sessions that a query names.
const manySessions = "/v1/events"

// permit refuses an action on sessions, or on all if there are none, that the client
// has no right to.
func permit(r *http.Request, a auth.Action, sessions []string) error {
	if len(sessions) == 0 && !identity(r).MayAll(a) {
		return respond.Refuse(http.StatusForbidden, fmt.Sprintf("the token does not permit to %s all sessions", verb(a)))
	}
	for _, session := range sessions {
		if err := permitOne(r, a, session); err != nil {
			return err
		}
	}
	return nil
}

// errExpired is the cause of the end of a request whose token has expired.
var errExpired = errors.New("gateway: the token has expired")

type identityKey struct{}

// withIdentity returns a request of a client. Its context ends when the token of the
// client expires.
func withIdentity(r *http.Request, id *auth.Identity) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithValue(r.Context(), identityKey{}, id), context.CancelFunc(func() {})
	if !id.Expires.IsZero() {
		ctx, cancel = context.WithDeadlineCause(ctx, id.Expires, errExpired)
	}
	return r.WithContext(ctx), cancel
}

func identity(r *http.Request) *auth.Identity {
	if id, ok := r.Context().Value(identityKey{}).(*auth.Identity); ok {
		return id
	}
	return &auth.Identity{} // nothing is permitted
}

func permitOne(r *http.Request, a auth.Action, session string) error {
	if identity(r).May(a, session) {
		return nil
	}
	return respond.Refuse(http.StatusForbidden, fmt.Sprintf("the token does not permit to %s session %.100q", verb(a), session))
}

func verb(a auth.Action) string {
	if a == auth.Publish {
		return "publish to"
	}
	return a.String()
}
