package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"streamer/internal/auth"
	"streamer/internal/inputs"
)

// kinds lists the inputs: the last part of the path, the kind, and the right that it
// needs.
var kinds = [...]struct {
	path   string
	kind   inputs.Kind
	action auth.Action
}{
	{"deltas", inputs.Delta, auth.Publish},
	{"results", inputs.Result, auth.Publish},
	{"progress", inputs.Progress, auth.Publish},
	{"interrupt", inputs.Interrupt, auth.Interrupt},
	{"end", inputs.End, auth.Publish},
}

// newRoutes returns the routes. The handlers check methods themselves, because the
// mux does not answer with JSON.
func (g *Gateway) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	// A path with {session} needs the right to the action on that session, any other
	// path the right to it on all sessions.
	api := func(path, method string, a auth.Action, h handler) {
		mux.HandleFunc(path, g.onlyMethod(method, g.withAuth(permitted(path, a, h))))
	}
	// checked is for handlers that check the rights of the client themselves.
	checked := func(path, method string, h handler) {
		mux.HandleFunc(path, g.onlyMethod(method, g.withAuth(h)))
	}
	checked("/v1/sessions", "GET", g.sessions)
	api("/v1/sessions/{session}/events", "GET", auth.Watch, g.events)
	api("/v1/sessions/{session}/events/{seq}", "GET", auth.Watch, g.event)
	api("/v1/sessions/{session}/events/{seq}/{part}", "GET", auth.Watch, g.part)
	api("/v1/ai-sdk/{session}/stream", "GET", auth.Watch, g.turnsIn("ai-sdk"))
	for _, k := range kinds {
		api("/v1/sessions/{session}/"+k.path, "POST", k.action, g.ingest(k.kind))
	}
	if g.opts.Repairs != nil {
		checked("/v1/repair", "POST", g.repair)
	}
	api("/metrics", "GET", auth.Watch, g.metrics)
	mux.HandleFunc("/v1/login", g.onlyMethod("POST", g.withAccess(g.login)))
	mux.HandleFunc("/healthz", g.onlyMethod("GET", g.healthz))
	mux.HandleFunc("/readyz", g.onlyMethod("GET", g.readyz))
	mux.HandleFunc("/", g.withAccess(g.serveAsset))
	return mux
}

// onlyMethod returns a handler that refuses other methods than the given one. HEAD
// is accepted where GET is.
func (g *Gateway) onlyMethod(method string, h http.HandlerFunc) http.HandlerFunc {
	allow := method + ", OPTIONS"
	if method == "GET" {
		allow = "GET, HEAD, OPTIONS"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case method:
		case http.MethodHead:
			if method != http.MethodGet {
				refuseMethod(w, r, allow)
				return
			}
		case http.MethodOptions:
			g.preflight(w, r, allow)
			return
		default:
			refuseMethod(w, r, allow)
			return
		}
		h(w, r)
	}
}

// refuseMethod answers a request with a method that is not allowed.
func refuseMethod(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	replyError(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not allowed here, only %s", r.Method, strings.Split(allow, ",")[0]))
}

// handler serves a request that passed the checks. Its error is sent to the client.
type handler func(w http.ResponseWriter, r *http.Request) error

// withAccess returns a handler that serves requests from allowed hosts and origins.
func (g *Gateway) withAccess(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := g.access.check(w, r); err != nil {
			g.fail(w, r, err)
			return
		}
		if err := h(w, r); err != nil {
			g.fail(w, r, err)
		}
	}
}

// withAuth returns a handler that in addition requires a token, if the gateway has
// authentication, and ends when the token expires.
func (g *Gateway) withAuth(h handler) http.HandlerFunc {
	return g.withAccess(func(w http.ResponseWriter, r *http.Request) error {
		id, err := g.credentials.check(w, r)
		if err != nil {
			return err
		}
		r, cancel := withIdentity(r, id)
		defer cancel()
		return h(w, r)
	})
}

// permitted returns a handler that in addition requires the right to an action on the
// session in the path, or on all sessions if the path has none.
func permitted(path string, a auth.Action, h handler) handler {
	if !strings.Contains(path, "{session}") {
		return func(w http.ResponseWriter, r *http.Request) error {
			if err := permitAll(r, a); err != nil {
				return err
			}
			return h(w, r)
		}
	}
	return func(w http.ResponseWriter, r *http.Request) error {
		session, _, err := sessionOf(r)
		if err != nil {
			return err
		}
		if err := permit(r, a, session); err != nil {
			return err
		}
		return h(w, r)
	}
}
