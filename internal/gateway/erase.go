package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"streamer/internal/gateway/respond"
)

// eraseTime bounds an erasure: the chunks of large values are deleted a minute after they
// were stored.
const eraseTime = 3 * time.Minute

// erase deletes all that is stored of a session, and answers when it is gone.
func (g *Gateway) erase(w http.ResponseWriter, r *http.Request) error {
	session, token, err := sessionOf(r)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(eraseTime + g.opts.WriteTimeout))
	ctx, cancel := context.WithTimeout(r.Context(), eraseTime)
	defer cancel()
	done, err := g.store.Erase(ctx, token)
	if err != nil {
		g.log.Error().Err(err).Str("session", session).Msg("session not erased")
		w.Header().Set("Retry-After", "5")
		if errors.Is(err, ErrHeld) {
			return respond.Refuse(http.StatusServiceUnavailable, ErrHeld.Error())
		}
		return respond.Refuse(http.StatusServiceUnavailable, "the session is not erased, or only a part of it; repeat the request")
	}
	g.log.Info().Str("session", session).Int("inputs", done.Inputs).Int("events", done.Events).Int("chunks", done.Chunks).Msg("session erased")
	respond.JSON(w, http.StatusOK, struct {
		Session string `json:"session"`
		Erased
	}{session, done})
	return nil
}
