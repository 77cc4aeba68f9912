package gateway

import (
	"context"
	"net/http"

	"streamer/internal/gateway/respond"
)

// healthz reports that the process runs. It and readyz check neither the Host nor
// the token, because probes have none and the answers are not secret.
func (g *Gateway) healthz(w http.ResponseWriter, _ *http.Request) {
	respond.JSON(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"alive"})
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
