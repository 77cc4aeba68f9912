package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// fan is a bare fan-out: one subscription to the events, and one write per viewer and event.
// It reads no history and keeps nothing.
type fan struct {
	mu      sync.Mutex
	viewers map[string][]chan []byte // frames, by token of the session
}

// serveFan serves the events that are published at url, until ctx ends. It prints its URL.
func serveFan(ctx context.Context, url string, out io.Writer) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	f := &fan{viewers: map[string][]chan []byte{}}
	if _, err := nc.Subscribe("toolcalls.*.event.>", f.send); err != nil {
		return err
	}
	return serveUntil(ctx, f, out)
}

// send passes an event on to the viewers of its session. One that is far behind
// loses it, which the measurement finds.
func (f *fan) send(m *nats.Msg) {
	frame := fmt.Appendf(nil, "id: %s\ndata: %s\n\n", m.Header.Get("Nats-Sequence"), m.Data)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.viewers[strings.Split(m.Subject, ".")[1]] {
		select {
		case v <- frame:
		default:
		}
	}
}

// ServeHTTP answers GET /v1/sessions/{token}/events.
func (f *fan) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) != 5 {
		http.NotFound(w, r)
		return
	}
	token, frames := parts[3], make(chan []byte, 256)
	f.mu.Lock()
	f.viewers[token] = append(f.viewers[token], frames)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.viewers[token] = slices.DeleteFunc(f.viewers[token], func(v chan []byte) bool { return v == frames })
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	for frame := []byte("event: stream.live\n\n"); ; {
		if _, err := w.Write(frame); err != nil || rc.Flush() != nil {
			return
		}
		select {
		case frame = <-frames:
		case <-r.Context().Done():
			return
		}
	}
}
