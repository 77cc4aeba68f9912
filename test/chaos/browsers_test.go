package chaos

import (
	"bufio"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/client"
)

// browsers follow some sessions over SSE, each from a random gateway of the fleet.
// When the connection ends or is silent, a browser resumes after its last event,
// from a random gateway again.
type browsers struct {
	b        *client.Broker
	gateways []string
	client   http.Client
	stop     context.CancelFunc
	ctx      context.Context //nolint:containedctx // the browsers begin at different times and end together
	wg       sync.WaitGroup

	mu       sync.Mutex
	received map[string][]uint64 // sequences of the events, by session
	resumed  int                 // connections that resumed after an event
}

// newBrowsers returns browsers of the gateways of f.
func newBrowsers(t *testing.T, b *client.Broker, f *fleet) *browsers {
	r := &browsers{b: b, gateways: f.http[:], received: map[string][]uint64{}}
	r.client.Transport = &http.Transport{ResponseHeaderTimeout: silence}
	r.ctx, r.stop = context.WithCancel(t.Context())
	return r
}

// silence is the time after which a browser disconnects from a gateway that sends
// nothing. A gateway sends a heartbeat every 15 s.
const silence = 20 * time.Second

// follow starts to read a session, unless it is read already.
func (r *browsers) follow(token string, rnd *rand.Rand) {
	seed := rnd.Uint64()
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.received[token]; ok {
		return
	}
	r.received[token] = nil
	r.wg.Go(func() {
		rnd := rand.New(rand.NewPCG(seed, 300))
		for r.ctx.Err() == nil {
			r.connect(token, r.gateways[rnd.IntN(len(r.gateways))])
			select {
			case <-r.ctx.Done():
			case <-time.After(50 * time.Millisecond): // between two connections
			}
		}
	})
}

// connect reads from one gateway until the connection ends or is silent.
func (r *browsers) connect(token, gateway string) {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+gateway+"/v1/sessions/"+token+"/events", nil)
	if err != nil {
		return
	}
	r.mu.Lock()
	if n := len(r.received[token]); n > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatUint(r.received[token][n-1], 10))
		r.resumed++
	}
	r.mu.Unlock()
	resp, err := r.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	var id uint64
	data := false
	for lines.Scan() {
		silent.Reset(silence)
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "id:"):
			id, _ = strconv.ParseUint(strings.TrimSpace(line[len("id:"):]), 10, 64) // 0 if invalid
		case strings.HasPrefix(line, "data:"):
			data = true
		case line == "": // end of the frame
			if id > 0 && data {
				r.receive(token, id)
			}
			id, data = 0, false
		}
	}
}

// receive records an event.
func (r *browsers) receive(token string, seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received[token] = append(r.received[token], seq)
}

// behind lists the sessions whose browser has not received exactly the events of
// the log.
func (r *browsers) behind(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return differing(ctx, r.b, "browser", r.received)
}

// end ends all browsers.
func (r *browsers) end() (sessions, resumed int) {
	r.stop()
	r.wg.Wait()
	r.client.CloseIdleConnections()
	return len(r.received), r.resumed
}
