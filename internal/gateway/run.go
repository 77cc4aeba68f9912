package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"time"
)

const (
	idleTimeout    = 2 * time.Minute // maximum time between requests of a connection
	maxHeaderBytes = 16 << 10

	// Of a connection with HTTP/2, which has many requests at once.
	maxConnStreams = 250              // maximum number of its requests
	pingAfter      = 30 * time.Second // silence after which the client must answer a ping
)

func (g *Gateway) newServer() *http.Server {
	return &http.Server{
		Handler:           g,
		ReadHeaderTimeout: g.opts.ReadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(g.log, "", 0),
		// ReadTimeout and WriteTimeout would end every stream. Instead each
		// request and each write sets its own deadline.
	}
}

// Run serves ln, with TLS and HTTP/2 if Options.Certificate is set, until ctx ends. Then
// it ends the open streams within half of Options.Grace, lets requests finish within the
// whole of it, and closes the remaining connections. It returns when no request is being served: nil after the
// end of ctx, otherwise the error of serving. It closes ln and can be called once.
func (g *Gateway) Run(ctx context.Context, ln net.Listener) error {
	srv := g.newServer()
	g.server.Store(srv)
	ln = limitedListener{ln, g}
	serve := srv.Serve
	if g.opts.Certificate != nil {
		srv.TLSConfig = &tls.Config{GetCertificate: g.opts.Certificate, MinVersion: tls.VersionTLS12}
		srv.HTTP2 = &http.HTTP2Config{
			MaxConcurrentStreams: maxConnStreams, SendPingTimeout: pingAfter,
			PingTimeout: g.opts.ReadTimeout, WriteByteTimeout: g.opts.WriteTimeout,
		}
		serve = func(ln net.Listener) error { return srv.ServeTLS(ln, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- serve(ln) }()
	select {
	case err := <-served:
		_ = srv.Close()
		empty := g.streams.drain(1)
		g.streams.cut()
		<-empty
		<-g.ingests.drain(1)
		return fmt.Errorf("gateway: serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	empty, stored := g.streams.drain(max(g.opts.Grace/2, 1)), g.ingests.drain(1)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.Grace)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		g.log.Warn().Err(err).Msg("connections closed after the grace period")
		_ = srv.Close()
	}
	select {
	case <-empty:
	case <-last.Done():
		g.streams.cut() // net/http does not know these connections
		<-empty
	}
	<-stored
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("gateway: serve %s: %w", ln.Addr(), err)
	}
	return nil
}
