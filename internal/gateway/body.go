package gateway

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"streamer/internal/encode"
)

// body writes the body of a stream. Its methods are not called at the same time.
type body interface {
	// write writes the frames that follow chunkSpace in buf, and may change buf.
	write(buf []byte, deadline time.Time) error
	// share writes an event that other streams write too, in the stateless protocol of
	// enc.
	share(sh *sharedEvent, enc encode.Encoder, deadline time.Time) error
}

const (
	crlf = "\r\n"
	// chunkSpace is the space before frames for the size of a chunk.
	chunkSpace = "12345678" + crlf
)

func newChunk() []byte { return append(make([]byte, 0, 512), chunkSpace...) }

// closeChunk returns the chunk with the frames that follow chunkSpace in buf, which it
// changes.
func closeChunk(buf []byte) []byte {
	size := len(buf) - len(chunkSpace)
	var digits [16]byte
	hex := strconv.AppendUint(digits[:0], uint64(size), 16)
	start := len(chunkSpace) - len(crlf) - len(hex)
	copy(buf[start:], hex)
	copy(buf[len(chunkSpace)-len(crlf):], crlf)
	return append(buf, crlf...)[start:]
}

type response struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	sent *atomic.Uint64 // counts bytes
}

// newResponse sends the header and returns the body.
func newResponse(w http.ResponseWriter, sent *atomic.Uint64) response {
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	// From here on, reading only detects that the client disconnects.
	_ = rc.SetReadDeadline(time.Time{})
	return response{w, rc, sent}
}

func (o response) write(buf []byte, deadline time.Time) error {
	return o.send(buf[len(chunkSpace):], deadline)
}

func (o response) share(sh *sharedEvent, enc encode.Encoder, deadline time.Time) error {
	return o.send(sh.frame(enc), deadline)
}

func (o response) send(frames []byte, deadline time.Time) error {
	_ = o.rc.SetWriteDeadline(deadline)
	n, err := o.w.Write(frames)
	o.sent.Add(uint64(n))
	if err != nil {
		return err
	}
	return o.rc.Flush()
}
