package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"streamer/docs"
	"streamer/internal/gateway/agui"
	"streamer/internal/gateway/durable"
	"streamer/internal/gateway/langgraph"
	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"

	"github.com/prometheus/client_golang/prometheus"
)

// kinds lists the inputs: the last part of the path, and the kind.
var kinds = [...]struct {
	path string
	kind inputs.Kind
}{
	{"deltas", inputs.Delta},
	{"results", inputs.Result},
	{"progress", inputs.Progress},
	{"interrupt", inputs.Interrupt},
	{"answer", inputs.Answer},
	{"resume", inputs.Resume},
	{"end", inputs.End},
}

const (
	metricsPath = "/metrics"
	sessionPath = "/v1/sessions/{session}"
)

// route is a path that the gateway serves.
type route struct {
	path    string // pattern of http.ServeMux, without a method
	methods string // separated by ", "; HEAD and OPTIONS are accepted besides
	serve   http.HandlerFunc
}

// newRoutes returns the mux of all routes. The handlers check methods themselves,
// because the mux does not answer with JSON.
func (g *Gateway) newRoutes(metrics *prometheus.Registry) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range g.routeList(metrics) {
		mux.HandleFunc(r.path, r.serve)
	}
	return mux
}

// routeList returns the routes. docs/openapi.json describes each.
func (g *Gateway) routeList(metrics *prometheus.Registry) []route {
	var list []route
	add := func(path, methods string, serve http.HandlerFunc) {
		list = append(list, route{path, methods, g.onlyMethods(methods, serve)})
	}
	api := func(path, methods string, h func(http.ResponseWriter, *http.Request) error) {
		add(path, methods, g.withAuth(permitted(path, methods, h)))
	}
	api(metricsPath, "GET", g.serveMetrics(metrics))
	add("/healthz", "GET", g.healthz)
	add("/readyz", "GET", g.readyz)
	if g.opts.OnlyHealth {
		return list
	}
	api("/v1/sessions", "GET", g.sessions)
	api("/v1/events", "GET", g.manyEvents)
	api(sessionPath, "DELETE", g.erase)
	api("/v1/sessions/{session}/events", "GET", g.events)
	api("/v1/sessions/{session}/messages", "GET", g.messages)
	api("/v1/sessions/{session}/events/{seq}", "GET", g.event)
	api("/v1/sessions/{session}/events/{seq}/{part}", "GET", g.part)
	api("/v1/ai-sdk/{session}/stream", "GET", g.turn("ai-sdk"))
	api("/v1/ai-sdk/{session}", "POST", foreignAPI{g}.answerTurn)
	api("/v1/ag-ui/{session}", "GET, POST", agui.Handler(foreignAPI{g}))
	api("/v1/durable-streams/{session}", "GET", durable.Handler(foreignAPI{g}))
	langgraph.Routes(foreignAPI{g}, api)
	for _, k := range kinds {
		methods := "POST"
		if canStream(k.kind) {
			methods = "POST, PUT" // curl -T sends PUT
		}
		api("/v1/sessions/{session}/"+k.path, methods, g.ingest(k.kind))
	}
	if g.opts.Repairs != nil {
		api("/v1/repair", "POST", g.repair)
	}
	add("/v1/login", "POST", g.withAccess(g.login))
	add("/v1/openapi.json", "GET", g.withAccess(g.description("application/json", docs.OpenAPI)))
	add("/v1/events.schema.json", "GET", g.withAccess(g.description("application/schema+json", docs.EventSchema)))
	return append(list, route{"/", "GET", g.withAccess(g.serveAsset)}) // which refuses other methods after unknown paths
}

// onlyMethods returns a handler that refuses other methods than the given ones, a list
// separated by ", ". HEAD is accepted where GET is.
func (g *Gateway) onlyMethods(methods string, h http.HandlerFunc) http.HandlerFunc {
	accepted := strings.Split(methods, ", ")
	allow := strings.Replace(methods, "GET", "GET, HEAD", 1) + ", OPTIONS"
	if slices.Contains(accepted, http.MethodGet) {
		accepted = append(accepted, http.MethodHead)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		switch encoding := r.Header.Get("Content-Encoding"); {
		case slices.Contains(accepted, r.Method) && encoding != "" && encoding != "identity":
			respond.Error(w, http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding %.40q is not supported: send the body without it", encoding))
		case slices.Contains(accepted, r.Method):
			h(w, r)
		case r.Method == http.MethodOptions:
			g.preflight(w, r, allow)
		default:
			refuseMethod(w, r, allow, methods)
		}
	}
}

// refuseMethod answers a request with a method that is not allowed. only lists the
// methods that the error names.
func refuseMethod(w http.ResponseWriter, r *http.Request, allow, only string) {
	w.Header().Set("Allow", allow)
	text := fmt.Sprintf("%s is not allowed here, only %s", r.Method, only)
	if only == http.MethodGet && r.PathValue("session") != "" {
		text += ": events are only read; send inputs to /v1/sessions/{session}/deltas, results and others"
	}
	respond.Error(w, http.StatusMethodNotAllowed, text)
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
			g.counts.denied.Add(1)
			return err
		}
		r, cancel := withIdentity(r, id)
		defer cancel()
		return h(w, r)
	})
}
