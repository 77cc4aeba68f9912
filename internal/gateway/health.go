package gateway

import (
	"context"
	"net/http"
)

// healthz reports that the process runs. It and readyz check neither the Host nor
// the token, because probes have none and the answers are not secret.
func (g *Gateway) healthz(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"alive"})
}

// readyz reports whether inputs and events can be stored and read, with warnings
// that need attention.
func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
	defer cancel()
	if g.streams.draining() {
		replyError(w, http.StatusServiceUnavailable, "the server is shutting down")
		return
	}
	if err := g.store.Ready(ctx); err != nil {
		replyError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	var warnings []string
	if g.opts.Warnings != nil {
		warnings = g.opts.Warnings()
	}
	reply(w, http.StatusOK, struct {
		Status   string   `json:"status"`
		Warnings []string `json:"warnings,omitempty"`
	}{"ready", warnings})
}
