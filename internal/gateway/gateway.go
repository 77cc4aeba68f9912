// Package gateway serves the HTTP API: it streams the events of a session as SSE,
// accepts inputs and interrupts, repairs histories, and serves the page.
//
// It promises:
//   - A stream has every event of its session after the client's cursor, in the
//     order of the log and without duplicates: first the stored events, then new
//     ones. A cursor whose next events are no longer in the log is refused.
//   - A stream of several sessions has their events in the order of the log. A cursor
//     of another session is refused.
//   - A stream in a protocol whose streams are runs has every event of the last
//     turn of its session. Its end is orderly only after the end of that, or with an
//     error that names the reason.
//   - A run that is joined has every event of the run after the client's cursor, and
//     an orderly end only after its end.
//   - A client that does not read is disconnected within the write timeout and
//     can resume. It delays no other client.
//   - An input is answered with 202 after it is stored. Its body is stored
//     unchanged, but an answer gets the subject of its token. The inputs of a body of unknown length are stored as they arrive.
//   - A web page of another origin can neither read nor write, even if it reaches
//     a gateway on loopback through DNS rebinding.
//   - A client does only what its token permits, until the token expires.
//   - Bodies, headers, waiting times and the number of streams are bounded, and the
//     number of streams of each client and address.
//
// A crash loses nothing, because open connections are the gateway's only state.
package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/gateway/respond"

	"github.com/rs/zerolog"
)

// Gateway is an http.Handler. If Run is called, it serves until Run returns.
type Gateway struct {
	opts         Options
	store        Store
	log          zerolog.Logger
	access       access
	credentials  credentials
	proxies      proxies
	clients      quota // of streams, by client
	addresses    quota // of streams, by address
	multiplexed  quota // of requests with HTTP/2, by address
	connections  quota // of connections, by address
	rates        rates // of inputs
	page         map[string]*asset
	routes       *http.ServeMux
	streams      streams
	ingests      streams // requests whose bodies are stored as they arrive
	counts       counts
	server       atomic.Pointer[http.Server] // nil before Run
	outageLogged atomic.Int64                // time of the last log message about unavailable logs, Unix nanoseconds
	buffers      sync.Pool                   // *[]byte with frames to be written
	recent       recent
}

// New returns a gateway over store that serves page (no page if nil) at /. An
// exposed gateway without authentication is an error.
func New(opts Options, store Store, page fs.FS, log zerolog.Logger) (*Gateway, error) {
	if opts.Exposed && opts.Token == "" && opts.Verify == nil {
		return nil, errors.New("gateway: listening beyond loopback needs a token or the verification of tokens")
	}
	for _, token := range []string{opts.Token, opts.MetricsToken} {
		if token != "" && len(token) < minToken {
			return nil, fmt.Errorf("gateway: the token has %d bytes, fewer than %d", len(token), minToken)
		}
	}
	opts = opts.withDefaults(store.MaxPayload())
	if opts.MaxBody <= 0 {
		return nil, fmt.Errorf("gateway: a body limit of %d bytes (the store takes %d) leaves no space for inputs", opts.MaxBody, store.MaxPayload())
	}
	access, err := newAccess(opts)
	if err != nil {
		return nil, err
	}
	proxies, err := parseProxies(opts.Proxies)
	if err != nil {
		return nil, err
	}
	assets, err := readPage(page)
	if err != nil {
		return nil, err
	}
	g := &Gateway{opts: opts, store: store, log: log, access: access, proxies: proxies, page: assets}
	g.credentials = newCredentials(opts.Token, opts.MetricsToken, opts.Verify)
	g.streams.max, g.ingests.max = opts.MaxClients, opts.MaxIngests
	g.clients.max, g.addresses.max, g.connections.max = opts.MaxPerClient, opts.MaxPerAddress, opts.MaxPerAddress
	g.multiplexed.max = opts.MaxPerAddress
	g.rates.inputs, g.rates.bytes, g.rates.maxBody = opts.MaxInputRate, opts.MaxByteRate, opts.MaxBody
	g.buffers.New = func() any { return new([]byte) }
	registry, err := g.newRegistry()
	if err != nil {
		return nil, err
	}
	g.routes = g.newRoutes(registry)
	return g, nil
}

// Watched reports whether an event stream shows all types of events of a session. A reader
// of some types, such as a list of sessions, is no viewer.
func (g *Gateway) Watched(session string) bool { return g.streams.show(session) }

// ServeHTTP answers a request and logs it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &recorder{ResponseWriter: w}
	defer func() { // also for a stream that is cut off
		g.counts.countStatus(rec.status)
		g.log.Debug().Str("method", r.Method).Str("path", shortened(r.URL.Path)).Int("status", rec.status).
			Int64("bytes", rec.bytes).Dur("took", time.Since(start)).Msg("request")
	}()
	if g.isTap(r) {
		g.serveTap(rec, r)
		return
	}
	rc := http.NewResponseController(w)
	if r.ProtoMajor == 2 { // an answer waits in memory until the client opens a window, with or without a token
		address := g.proxies.client(r)
		if !g.multiplexed.take(address) {
			g.counts.refused.Add(1)
			panic(http.ErrAbortHandler) // an answer would wait as well
		}
		defer func() {
			_ = rc.Flush()
			g.multiplexed.leave(address)
		}()
	}
	// A connection keeps its deadlines from one request to the next, so each
	// request sets its own. Writers without deadlines, such as recorders, are
	// served without them. A deadline of reading without a body would end a request that
	// takes long, as if its client had left.
	reading := time.Time{}
	if r.Body != http.NoBody {
		reading = start.Add(g.opts.ReadTimeout)
	}
	_ = rc.SetReadDeadline(reading)
	_ = rc.SetWriteDeadline(start.Add(g.opts.ReadTimeout + g.opts.StoreTimeout + g.opts.WriteTimeout))
	h := rec.Header()
	if len(r.TransferEncoding) > 0 {
		// net/http hides a Content-Length beside it, and a proxy that counts the bytes would
		// take the rest of the body for the next request (RFC 9112, section 6.1).
		h.Set("Connection", "close")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if strings.LastIndex(r.URL.EscapedPath(), "//") > 0 { // the mux would redirect to a path without that part
		respond.Error(rec, http.StatusNotFound, "not found: the path has an empty part, such as a session without a name")
		return
	}
	g.routes.ServeHTTP(rec, r)
}
