package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

const maxHeaderValue = 512 // bytes of a header that is passed on

// ingest stores a body, as it is, as an input of a kind.
func (g *Gateway) ingest(kind inputs.Kind) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		session, token, err := sessionOf(r)
		if err != nil {
			return err
		}
		msgID, err := messageID(r, token, kind)
		if err != nil {
			return err
		}
		header, err := passedHeaders(r)
		if err != nil {
			return err
		}
		body, err := g.readBody(w, r)
		if err != nil {
			return err
		}
		if body, err = checkBody(kind, body); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), g.opts.StoreTimeout)
		defer cancel()
		seq, err := g.store.Publish(ctx, token, kind, msgID, header, body)
		if err != nil {
			return g.notStored(w, session, kind, err)
		}
		reply(w, http.StatusAccepted, struct {
			Session string `json:"session"`
			Seq     uint64 `json:"seq"`
		}{session, seq})
		return nil
	}
}

// notStored returns the answer to an input that the store did not take.
func (g *Gateway) notStored(w http.ResponseWriter, session string, kind inputs.Kind, err error) error {
	if errors.Is(err, inputs.ErrTooLarge) {
		return tooLarge(g.opts.MaxBody)
	}
	g.log.Error().Err(err).Str("session", session).Str("kind", string(kind)).Msg("input not stored")
	if errors.Is(err, inputs.ErrFull) {
		w.Header().Set("Retry-After", "30")
		return refuse(http.StatusServiceUnavailable, "the input is not stored: the input log is full; it takes inputs again when old ones expire, or with a larger --max-bytes")
	}
	w.Header().Set("Retry-After", "2")
	if errors.Is(err, ErrNotOpen) {
		return refuse(http.StatusServiceUnavailable, "the input is not stored: partitions are still being taken over; /readyz says when inputs are taken")
	}
	return refuse(http.StatusServiceUnavailable, "the input is not known to be stored; send it again with the same Idempotency-Key")
}

// sessionOf reads the session in the URL and gives its token too.
func sessionOf(r *http.Request) (session, token string, err error) {
	session = r.PathValue("session")
	if !utf8.ValidString(session) {
		return "", "", refuse(http.StatusBadRequest, fmt.Sprintf("session %q is not UTF-8", session))
	}
	if token, err = events.Token(session); err != nil {
		return "", "", refuse(http.StatusBadRequest, err.Error())
	}
	return session, token, nil
}

// messageID makes the id by which the log knows a repeated input, from the
// client's key or, so that our own retries count once, at random.
func messageID(r *http.Request, token string, kind inputs.Kind) (string, error) {
	own := r.Header.Get("Idempotency-Key")
	if own == "" {
		own = rand.Text()
	}
	if len(own) > maxHeaderValue || !printable(own) {
		return "", refuse(http.StatusBadRequest, fmt.Sprintf("Idempotency-Key is not 1 to %d printable ASCII characters", maxHeaderValue))
	}
	return token + ":" + string(kind) + ":" + own, nil
}

// passedHeaders returns the headers that go with an input, under the names that
// HTTP has for them.
func passedHeaders(r *http.Request) (inputs.Header, error) {
	header := inputs.Header{}
	for _, name := range inputs.Headers() {
		name = http.CanonicalHeaderKey(name)
		v := r.Header.Get(name)
		if v == "" {
			continue
		}
		if len(v) > maxHeaderValue || !printable(v) {
			return nil, refuse(http.StatusBadRequest, fmt.Sprintf("%s is not 1 to %d printable ASCII characters", name, maxHeaderValue))
		}
		header[name] = []string{v}
	}
	return header, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > int64(g.opts.MaxBody) {
		return nil, tooLarge(g.opts.MaxBody)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(g.opts.MaxBody)))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge(g.opts.MaxBody)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body did not come whole")
	}
	return body, nil
}

func tooLarge(limit int) error {
	return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes; send it in several", limit))
}

// checkBody refuses a body that the fold would reject, with the same text.
// Deltas may be JSON, NDJSON or the text of an SSE stream, cut anywhere: only the
// fold can judge them. An empty interrupt or end means {}.
func checkBody(kind inputs.Kind, body []byte) ([]byte, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		if kind == inputs.Interrupt || kind == inputs.End {
			return []byte("{}"), nil
		}
		return nil, refuse(http.StatusBadRequest, "the body is empty")
	}
	if err := session.Check(kind, body); err != nil {
		return nil, refuse(http.StatusBadRequest, err.Error())
	}
	return body, nil
}
