package gateway

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"streamer/internal/auth"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/repair"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are the gateway's settings. The zero value serves loopback names without
// authentication.
type Options struct {
	// Exposed states that other machines can connect. Then Token or Verify is
	// required, and a Host that is an IP address is accepted.
	Exposed bool
	// Token permits everything to a client that sends it. It has at least 16 bytes.
	// If it is "" and Verify is nil, no authentication is required.
	Token string
	// MetricsToken permits only to read the metrics. "" is none. Without Token
	// and Verify everything is permitted anyway.
	MetricsToken string
	// Verify verifies another token, and returns what its bearer may do. If nil, only
	// Token is accepted.
	Verify func(ctx context.Context, token string) (*auth.Identity, error)
	// Certificate returns the certificate for TLS. If nil, connections are not
	// encrypted.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Hosts are the accepted names of the gateway, without port, in addition to
	// loopback names.
	Hosts []string
	// Origins are the other origins that may read and write, such as
	// "https://app.example.com".
	Origins []string
	// Proxies are the addresses (10.0.0.7) and networks (10.0.0.0/8) of proxies, in
	// addition to loopback. Their X-Forwarded-For has the address of a client.
	Proxies []string

	// Check returns an error if the body of an input would be rejected by the
	// fold. The answer to the client has the error's text. If nil, every body is
	// stored.
	Check func(kind inputs.Kind, body []byte) error
	// Trial returns a check of the deltas of one request, which returns the rejected
	// event that a delta would cause, nil if there is none. If nil, ?strict accepts
	// every delta.
	Trial func() func(format string, delta []byte) *events.Event
	// Warnings returns the warnings for GET /readyz. It must not block. If nil,
	// there are none.
	Warnings func() []string
	// Metrics returns the metrics for GET /metrics in addition to the gateway's
	// own. If nil, there are none.
	Metrics func(ctx context.Context) []Metric
	// Collectors are further metrics for GET /metrics.
	Collectors []prometheus.Collector

	// OnlyHealth leaves out all paths but those of health and metrics.
	OnlyHealth bool

	// Tap answers the paths that begin with tap.Prefix. If nil, they do not exist.
	Tap http.Handler
	// Shared reports whether the tap cannot tell the conversations of a session apart, which
	// is therefore not stopped. If nil, it can.
	Shared func(session string) bool

	// Repairs answers POST /v1/repair. If nil, the path does not exist.
	Repairs *repair.Service

	MaxClients    int           // maximum number of open streams; if zero, 10,000
	MaxPerClient  int           // maximum number of open streams of one subject of an issuer; if zero, 100
	MaxPerAddress int           // maximum number of open streams, and of connections, of one address beyond loopback; if zero, 1,000
	MaxInputRate  int           // maximum number of inputs per second with tokens of one subject, or without them from one address beyond loopback; if zero, no limit
	MaxByteRate   int           // maximum number of their bytes per second; if zero, no limit
	MaxOpen       int           // maximum number of open sessions that they began here; if zero, no limit
	MaxIngests    int           // maximum number of request bodies that are stored as they arrive; if zero, 1,000
	MaxBody       int           // maximum size of an input in bytes; if zero, the store's limit minus 4 KiB
	Heartbeat     time.Duration // interval without data before a heartbeat; if zero, 15 s
	WriteTimeout  time.Duration // timeout of one write to a client; if zero, 10 s
	ReadTimeout   time.Duration // timeout of a request's headers, and of its body; if zero, 15 s
	MaxAge        time.Duration // a stream that can be resumed ends after this time, or up to a fifth earlier; if zero, 1 h; if negative, never
	IngestIdle    time.Duration // maximum time without data of a request body that is stored as it arrives; if zero, 10 min
	StoreTimeout  time.Duration // timeout of one request to the store; if zero, 10 s
	Grace         time.Duration // time for shutdown when Run stops; if zero, 5 s
}

const (
	minToken      = 16
	payloadMargin = 4 << 10 // maximum size of an input's headers
)

func (o Options) withDefaults(maxPayload int) Options {
	o.MaxClients = orDefault(o.MaxClients, 10_000)
	o.MaxPerClient = orDefault(o.MaxPerClient, 100)
	o.MaxPerAddress = orDefault(o.MaxPerAddress, 1000)
	o.MaxIngests = orDefault(o.MaxIngests, 1000)
	o.MaxBody = orDefault(o.MaxBody, maxPayload-payloadMargin)
	o.Heartbeat = orDefault(o.Heartbeat, 15*time.Second)
	o.WriteTimeout = orDefault(o.WriteTimeout, 10*time.Second)
	o.ReadTimeout = orDefault(o.ReadTimeout, 15*time.Second)
	o.MaxAge = orDefault(o.MaxAge, time.Hour)
	o.IngestIdle = orDefault(o.IngestIdle, 10*time.Minute)
	o.StoreTimeout = orDefault(o.StoreTimeout, 10*time.Second)
	o.Grace = orDefault(o.Grace, 5*time.Second)
	return o
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}
