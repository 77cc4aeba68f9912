package gateway

import (
	"context"
	"net/http"

	"streamer/internal/gateway/respond"
)

// healthz reports that the process runs. It and readyz check neither the Host nor
// the token, because probes have none and the answers are not secret.
func (g *Gateway) healthz(w http.ResponseWriter, _ *http.Request) { alive(w) }

func alive(w http.ResponseWriter) {
	respond.JSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"alive"})
}

// Starting returns a handler for the time before there is a Gateway. It answers /healthz as
// that does, and everything else with 503 and why, if that is known.
func Starting(why func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			alive(w)
			return
		}
		text := "the server is starting"
		if err := why(); err != nil {
			text += ": " + err.Error()
		}
		w.Header().Set("Retry-After", "2")
		respond.Error(w, http.StatusServiceUnavailable, text)
	})
}

// readyz reports whether inputs and events can be stored and read, with warnings
// that need attention.
func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	if g.streams.draining() {
		respond.Error(w, http.StatusServiceUnavailable, "the server is shutting down")
		return
	}
	if err := g.store.Ready(ctx); err != nil {
		respond.Error(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	var warnings []string
	if g.opts.Warnings != nil {
		warnings = g.opts.Warnings()
	}
	respond.JSON(w, http.StatusOK, struct {
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty"`
	}{"ready", warnings})
}
