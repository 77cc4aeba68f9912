package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// refusal is an error whose text is sent to the client.
type refusal struct {
	status int
	text   string
}

// Error returns the text.
func (r *refusal) Error() string { return r.text }

// refuse returns a refusal.
func refuse(status int, text string) error { return &refusal{status, text} }

// fail answers with an error. A refusal is sent to the client. Any other error is
// logged, and its details are not sent.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	var ref *refusal
	switch {
	case errors.As(err, &ref):
		switch ref.status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusGone, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			g.log.Warn().Str("path", shortened(r.URL.Path)).Str("session", shortened(r.PathValue("session"))).Int("status", ref.status).
				Str("remote", r.RemoteAddr).Str("why", ref.text).Msg("request refused")
		}
		replyError(w, ref.status, ref.text)
	case errors.Is(err, events.ErrNotFound):
		replyError(w, http.StatusNotFound, "the event is not stored")
	case errors.Is(err, inputs.ErrTooLarge):
		replyError(w, http.StatusRequestEntityTooLarge, "the message is larger than the event log's server accepts")
	case r.Context().Err() != nil && errors.Is(err, context.Canceled):
		// The client has disconnected.
	default:
		g.logFailure(r, err)
		w.Header().Set("Retry-After", "2")
		replyError(w, http.StatusServiceUnavailable, "the logs cannot be reached; try again")
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

// logFailure logs a request that could not be answered.
func (g *Gateway) logFailure(r *http.Request, err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		g.log.Error().Err(err).Str("path", r.URL.Path).Msg("request failed")
		return
	}
	now := time.Now().UnixNano()
	if last := g.outageLogged.Load(); (last == 0 || now-last >= int64(outageLogInterval)) && g.outageLogged.CompareAndSwap(last, now) {
		g.log.Warn().Err(err).Str("path", r.URL.Path).Msg("the logs do not answer; requests fail")
	}
}

// replyError answers with an error as JSON.
func replyError(w http.ResponseWriter, status int, text string) {
	reply(w, status, struct {
		Error string `json:"error"`
	}{text})
}

// reply answers with a body as JSON.
func reply(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil { // cannot happen: every body is a struct of plain fields
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	// An error means that the client has disconnected.
	_, _ = w.Write(append(b, '\n'))
}

// recorder records the status and the size of an answer.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader records the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write records the number of bytes.
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Hijack takes the connection over for a stream, whose status is 200.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.status = http.StatusOK
	}
	return conn, rw, err
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
