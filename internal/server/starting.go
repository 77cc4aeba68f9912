package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"streamer/internal/gateway"
)

// startingTimeout bounds a request while the server starts.
const startingTimeout = 5 * time.Second

// startedTimeout bounds the wait for answers in progress when the server has started. A
// connection without a request would delay that for longer.
const startedTimeout = time.Second

// answerStarting answers /healthz and /readyz on a listener until the returned function is
// called: where a disk is full, or no server of NATS answers, a start takes up to openTime.
func answerStarting(l *net.TCPListener, o *gateway.Options, why func() error) (stop func()) {
	srv := &http.Server{Handler: gateway.Starting(why), ReadTimeout: startingTimeout, WriteTimeout: startingTimeout}
	serve := srv.Serve
	if o.Certificate != nil {
		srv.TLSConfig = &tls.Config{GetCertificate: o.Certificate, MinVersion: tls.VersionTLS12}
		serve = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serve(lent{l}) // which ends as it is shut down
	}()
	return func() {
		last, cancel := context.WithTimeout(context.Background(), startedTimeout)
		defer cancel()
		if srv.Shutdown(last) != nil {
			_ = srv.Close()
		}
		<-ended
		_ = l.SetDeadline(time.Time{})
	}
}

// lent is a listener that accepts nothing more when it is closed, and stays open.
type lent struct{ *net.TCPListener }

// Close ends Accept.
func (l lent) Close() error { return l.SetDeadline(time.Unix(1, 0)) }
