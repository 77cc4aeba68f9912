package gateway

import (
	"context"
	"net/http"
)

// healthz says that the process lives. It and readyz ask neither for a Host
// nor for the token: probes know none, and there is nothing to hide.
func (g *Gateway) healthz(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, struct {
		Status string `json:"status"`
	}{"alive"})
}

// readyz says whether inputs and events can be stored and read, and what
// somebody should look at even so.
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
