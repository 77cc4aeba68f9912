package gateway

import (
	"context"
	"time"

	"streamer/internal/repairs"
)

// Options are the gateway's settings. The zero value serves loopback names
// without authentication.
type Options struct {
	// Exposed says that others than this machine can connect. Then a Token is
	// required, and a Host that is an IP address is accepted.
	Exposed bool
	// Token is what clients must show, at least 16 bytes. If "", all may in.
	Token string
	// Hosts are the names, without port, by which the gateway may be reached
	// besides loopback ones.
	Hosts []string
	// Origins are the foreign origins that may read and write, such as
	// "https://app.example.com".
	Origins []string

	// Warnings gives what GET /readyz tells beside that all works, in words; it
	// must not wait. If nil, nothing.
	Warnings func() []string
	// Metrics gives what GET /metrics tells besides the gateway's own numbers.
	// If nil, nothing.
	Metrics func(ctx context.Context) []Metric

	// Repairs answers POST /v1/repair. If nil, there is no such thing.
	Repairs *repairs.Desk

	MaxClients   int           // open streams; if zero, 10,000
	MaxBody      int           // bytes of an input; if zero, the store's limit less 4 KiB
	Heartbeat    time.Duration // silence before a heartbeat; if zero, 15 s
	WriteTimeout time.Duration // for one write to a client; if zero, 10 s
	ReadTimeout  time.Duration // for a request's headers, and for its body; if zero, 15 s
	StoreTimeout time.Duration // for one question to the store; if zero, 10 s
	Grace        time.Duration // in which open streams are ended when Run stops; if zero, 5 s
}

const (
	minToken      = 16
	payloadMargin = 4 << 10 // what the headers of an input take at most
)

func (o Options) withDefaults(maxPayload int) Options {
	o.MaxClients = orDefault(o.MaxClients, 10_000)
	o.MaxBody = orDefault(o.MaxBody, maxPayload-payloadMargin)
	o.Heartbeat = orDefault(o.Heartbeat, 15*time.Second)
	o.WriteTimeout = orDefault(o.WriteTimeout, 10*time.Second)
	o.ReadTimeout = orDefault(o.ReadTimeout, 15*time.Second)
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
