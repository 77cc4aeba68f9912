package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"streamer/internal/auth"
	"streamer/internal/gateway/respond"
	"streamer/internal/repair"
)

// repairTime is the timeout for receiving a history, and for sending one.
const repairTime = time.Minute

// repair answers a request to repair a history. It waits until the memory limit
// admits the request before it reads the body.
func (g *Gateway) repair(w http.ResponseWriter, r *http.Request) error {
	service := g.opts.Repairs
	size := service.Bound()
	if r.ContentLength > int64(size) {
		return refusalOf(w, service.TooLarge())
	}
	if r.ContentLength >= 0 {
		size = int(r.ContentLength)
	}
	leave, err := service.Enter(r.Context(), size)
	if err != nil {
		return refusalOf(w, err)
	}
	defer leave()
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(repairTime))
	_ = rc.SetWriteDeadline(time.Now().Add(2 * repairTime)) // for a refusal after a slow body
	body, err := readSized(w, r, size)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return refusalOf(w, service.TooLarge())
	}
	if err != nil {
		return respond.Refuse(http.StatusBadRequest, "the body is incomplete")
	}
	answer, err := service.Answer(r.Context(), body, func(session string) error { return permitOne(r, auth.Watch, session) })
	if err != nil {
		return refusalOf(w, err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(answer.Len()))
	h.Set("Cache-Control", "no-store")
	_ = rc.SetWriteDeadline(time.Now().Add(repairTime))
	// An error means that the client has disconnected.
	_, _ = answer.WriteTo(w)
	return nil
}

// readSized reads a body of size bytes, or of at most size bytes if the request has
// no Content-Length.
func readSized(w http.ResponseWriter, r *http.Request, size int) ([]byte, error) {
	if r.ContentLength >= 0 {
		body := make([]byte, size)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, int64(size)))
}

func refusalOf(w http.ResponseWriter, err error) error {
	ref, ok := errors.AsType[*repair.Refusal](err)
	if !ok {
		return err
	}
	if ref.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	return respond.Refuse(ref.Status, ref.Text)
}
