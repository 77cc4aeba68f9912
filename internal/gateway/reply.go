package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// refusal is an error that is told to the client as it is.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, text string) error { return &refusal{status, text} }

// fail answers with an error. A refusal is the client's doing; anything else
// is ours, is logged, and its details stay in the log.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	var ref *refusal
	switch {
	case errors.As(err, &ref):
		switch ref.status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusGone, http.StatusServiceUnavailable:
			g.log.Warn().Str("path", r.URL.Path).Str("session", r.PathValue("session")).Int("status", ref.status).
				Str("remote", r.RemoteAddr).Str("why", ref.text).Msg("request refused")
		}
		replyError(w, ref.status, ref.text)
	case errors.Is(err, events.ErrNotFound):
		replyError(w, http.StatusNotFound, "there is no such event, or not any more")
	case errors.Is(err, inputs.ErrTooLarge):
		replyError(w, http.StatusRequestEntityTooLarge, "the event log's server does not take a message this large")
	case r.Context().Err() != nil && errors.Is(err, context.Canceled):
		// The client is gone; nobody would read an answer.
	default:
		g.failed(r, err)
		w.Header().Set("Retry-After", "2")
		replyError(w, http.StatusServiceUnavailable, "the logs cannot be reached just now; try again")
	}
}

// outageEvery is how often it is logged that the logs do not answer: every
// client that comes back would make a line.
const outageEvery = 30 * time.Second

// failed logs a request that could not be answered.
func (g *Gateway) failed(r *http.Request, err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		g.log.Error().Err(err).Str("path", r.URL.Path).Msg("request failed")
		return
	}
	now := time.Now().UnixNano()
	if last := g.outage.Load(); (last == 0 || now-last >= int64(outageEvery)) && g.outage.CompareAndSwap(last, now) {
		g.log.Warn().Err(err).Str("path", r.URL.Path).Msg("the logs do not answer; requests fail")
	}
}

func replyError(w http.ResponseWriter, status int, text string) {
	reply(w, status, struct {
		Error string `json:"error"`
	}{text})
}

func reply(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil { // no body of ours holds what JSON cannot
		status, b = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written as JSON"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	// An error here means that the client is gone.
	_, _ = w.Write(append(b, '\n'))
}

// recorder remembers what was answered.
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

// Unwrap gives http.ResponseController what it needs.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
