package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"streamer/internal/repair"
)

// repairTime is how long a history may be on its way, in each direction.
const repairTime = time.Minute

// repair repairs a history. It waits for its share of the memory before the
// body is read.
func (g *Gateway) repair(w http.ResponseWriter, r *http.Request) error {
	service := g.opts.Repairs
	size := service.Bound()
	if r.ContentLength > int64(size) {
		return refused(w, service.TooLarge())
	}
	if r.ContentLength >= 0 {
		size = int(r.ContentLength)
	}
	leave, err := service.Enter(r.Context(), size)
	if err != nil {
		return refused(w, err)
	}
	defer leave()
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(repairTime))
	_ = rc.SetWriteDeadline(time.Now().Add(2 * repairTime)) // of a refusal after all that
	body, err := readSized(w, r, size)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return refused(w, service.TooLarge())
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the body did not come whole")
	}
	answer, err := service.Answer(r.Context(), body)
	if err != nil {
		return refused(w, err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(answer.Len()))
	h.Set("Cache-Control", "no-store")
	_ = rc.SetWriteDeadline(time.Now().Add(repairTime))
	// An error here means that the client is gone.
	_, _ = answer.WriteTo(w)
	return nil
}

// readSized reads a body of size bytes or, where the request does not say how
// long it is, of size bytes at the most.
func readSized(w http.ResponseWriter, r *http.Request, size int) ([]byte, error) {
	if r.ContentLength >= 0 {
		body := make([]byte, size)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, int64(size)))
}

// refused makes a refusal of ours of the service's.
func refused(w http.ResponseWriter, err error) error {
	ref, ok := errors.AsType[*repair.Refusal](err)
	if !ok {
		return err
	}
	if ref.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	return refuse(ref.Status, ref.Text)
}
