// Package gateway is the HTTP side: it serves the events of a session as SSE,
// takes inputs and interrupts, repairs histories, and shows the page.
//
// It promises:
//   - A stream gives every event of its session after the client's cursor, in
//     the order of the log and without duplicate, first those stored, then
//     those that come. A cursor the log no longer reaches back to is refused,
//     never skipped over.
//   - A client that does not read is disconnected within the write time-out
//     and resumes where it was; it holds up nobody else.
//   - An input is answered 202 after it is stored, and forwarded as it came.
//   - A web page of another origin can neither read nor write, also when it
//     reaches a gateway on loopback or plays tricks with DNS.
//   - Bodies, headers, waiting and the number of streams are bounded.
//
// A crash loses nothing: the gateway keeps no state but open connections.
package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Gateway is an http.Handler. It serves until Run, if that is called, stops.
type Gateway struct {
	opts         Options
	store        Store
	log          zerolog.Logger
	access       access
	auth         auth
	page         map[string]asset
	routes       *http.ServeMux
	streams      streams
	counts       counts
	outageLogged atomic.Int64 // when it was logged that the logs do not answer, Unix nanoseconds
	buffers      sync.Pool    // of *[]byte, for frames on their way
}

// New makes a gateway over store that shows page (none if nil) at /. It
// refuses to be exposed without a token.
func New(opts Options, store Store, page fs.FS, log zerolog.Logger) (*Gateway, error) {
	if opts.Exposed && opts.Token == "" {
		return nil, errors.New("gateway: listening beyond loopback needs a token")
	}
	if opts.Token != "" && len(opts.Token) < minToken {
		return nil, fmt.Errorf("gateway: the token has %d bytes, fewer than %d", len(opts.Token), minToken)
	}
	opts = opts.withDefaults(store.MaxPayload())
	if opts.MaxBody <= 0 {
		return nil, fmt.Errorf("gateway: a body limit of %d bytes (the store takes %d) leaves no room for inputs", opts.MaxBody, store.MaxPayload())
	}
	access, err := newAccess(opts)
	if err != nil {
		return nil, err
	}
	assets, err := readPage(page)
	if err != nil {
		return nil, err
	}
	g := &Gateway{opts: opts, store: store, log: log, access: access, auth: newAuth(opts.Token), page: assets}
	g.streams.max = opts.MaxClients
	g.buffers.New = func() any { return new([]byte) }
	g.routes = g.newRoutes()
	return g, nil
}

// ServeHTTP answers a request and logs one line about it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &recorder{ResponseWriter: w}
	rc := http.NewResponseController(w)
	// A connection keeps its deadlines from one request to the next, so each
	// begins with its own. Recorders and other writers without deadlines are
	// served without.
	_ = rc.SetReadDeadline(start.Add(g.opts.ReadTimeout))
	_ = rc.SetWriteDeadline(start.Add(g.opts.ReadTimeout + g.opts.StoreTimeout + g.opts.WriteTimeout))
	h := rec.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	g.routes.ServeHTTP(rec, r)
	g.counts.countStatus(rec.status)
	g.log.Debug().Str("method", r.Method).Str("path", r.URL.Path).Int("status", rec.status).
		Int64("bytes", rec.bytes).Dur("took", time.Since(start)).Msg("request")
}
