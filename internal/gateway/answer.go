package gateway

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway/respond"
	"streamer/internal/inputs"

	"github.com/rs/zerolog"
)

// fail answers with an error. A refusal is sent to the client. Any other error is
// logged, and its details are not sent.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	var ref *respond.Refusal
	switch {
	case errors.As(err, &ref):
		level := zerolog.DebugLevel // because a client can cause thousands per second; metrics count them
		switch ref.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusGone:
			level = zerolog.WarnLevel
		}
		g.log.WithLevel(level).Str("path", shortened(r.URL.Path)).Str("session", shortened(r.PathValue("session"))).Int("status", ref.Status).
			Str("remote", r.RemoteAddr).Str("why", ref.Text).Msg("request refused")
		respond.Error(w, ref.Status, ref.Text)
	case errors.Is(err, events.ErrNotFound):
		respond.Error(w, http.StatusNotFound, "the event is not stored")
	case errors.Is(err, inputs.ErrTooLarge):
		respond.Error(w, http.StatusRequestEntityTooLarge, "the message is larger than the event log's server accepts")
	default:
		// A cancelled request has usually lost its client. Where it has not, an answer without
		// a body would look like a success.
		if r.Context().Err() == nil || !errors.Is(err, context.Canceled) {
			g.logFailure(r, err)
		}
		w.Header().Set("Retry-After", "2")
		respond.Error(w, http.StatusServiceUnavailable, "the logs cannot be reached; try again")
	}
}

// maxLogged is the maximum number of bytes of a value from a request in a log message.
const maxLogged = 300

// shortened returns a value from a request for a log message.
func shortened(s string) string {
	if len(s) > maxLogged {
		return s[:maxLogged] + "…"
	}
	return s
}

// outageLogInterval is the minimum time between two log messages about unavailable
// logs, because every reconnecting client would cause one.
const outageLogInterval = 30 * time.Second

func (g *Gateway) logFailure(r *http.Request, err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		g.log.Error().Err(err).Str("path", r.URL.Path).Msg("request failed")
		return
	}
	now := time.Now().UnixNano()
	if last := g.outageLogged.Load(); (last == 0 || now-last >= int64(outageLogInterval)) && g.outageLogged.CompareAndSwap(last, now) {
		g.log.Warn().Err(err).Str("path", r.URL.Path).Msg("event log timed out; requests fail")
	}
}

type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Hijack takes the connection over for a stream, whose status is 200, or for a WebSocket.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.status = cmp.Or(r.status, http.StatusOK)
	}
	return conn, rw, err
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
