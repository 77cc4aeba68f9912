package server

import "time"

// GatewayFlags are the flags of the gateway and of the repair service.
type GatewayFlags struct {
	HTTPListen        string        `name:"http-listen" group:"http" placeholder:"ADDRESS" default:"${http_listen}" help:"address of the page and the HTTP API; an address beyond loopback needs --http-token-file or --auth; if empty, no HTTP"`
	HTTPTokenFile     string        `name:"http-token-file" group:"http" placeholder:"FILE" help:"file with the token that permits everything to HTTP clients"`
	MetricsTokenFile  string        `group:"http" placeholder:"FILE" help:"file with a token that permits only to read /metrics, for Prometheus"`
	Auth              string        `group:"http" placeholder:"FILE" help:"JSON file with the issuers of JSON Web Tokens of HTTP clients, which docs/gateway.md describes"`
	HTTPTLSCert       string        `name:"http-tls-cert" group:"http" placeholder:"FILE" help:"PEM file of the certificate for HTTPS and HTTP/2; read again when it changes; if empty, HTTP without TLS"`
	HTTPTLSKey        string        `name:"http-tls-key" group:"http" placeholder:"FILE" help:"PEM file of the key of --http-tls-cert"`
	HTTPHost          []string      `name:"http-host" group:"http" placeholder:"NAME" sep:"none" help:"host name of the HTTP API besides loopback; may be repeated"`
	HTTPOrigin        []string      `name:"http-origin" group:"http" placeholder:"ORIGIN" sep:"none" help:"foreign origin whose pages may use the HTTP API, such as https://app.example.com; may be repeated"`
	HTTPProxy         []string      `name:"http-proxy" group:"http" placeholder:"ADDRESS" sep:"none" help:"address or network of a proxy, besides loopback, whose X-Forwarded-For names the client; may be repeated"`
	HTTPMaxClients    int           `name:"http-max-clients" group:"http" placeholder:"NUMBER" help:"maximum number of concurrent event streams; if 0, 10,000"`
	HTTPMaxPerClient  int           `name:"http-max-per-client" group:"http" placeholder:"NUMBER" help:"maximum number of concurrent event streams with JSON Web Tokens of one subject; if 0, 100"`
	HTTPMaxPerAddress int           `name:"http-max-per-address" group:"http" placeholder:"NUMBER" help:"maximum number of concurrent event streams, of connections, and of requests with HTTP/2, from one address beyond loopback; if 0, 1,000"`
	HTTPMaxInputs     int           `name:"http-max-inputs" group:"http" placeholder:"NUMBER" help:"maximum number of inputs per second with tokens of one subject, or without them from one address beyond loopback; as many may come at once; if 0, no limit"`
	HTTPMaxInputBytes int           `name:"http-max-input-bytes" group:"http" placeholder:"BYTES" help:"maximum number of bytes per second of these inputs; as many, or one body, may come at once; if 0, no limit"`
	HTTPMaxSessions   int           `name:"http-max-sessions" group:"http" placeholder:"NUMBER" help:"maximum number of open sessions that such a client began at this process; if 0, no limit"`
	HTTPMaxAge        time.Duration `name:"http-max-age" negative:"" group:"http" placeholder:"DURATION" help:"maximum age of an event stream that can be resumed; if 0, 1h; if negative, without limit"`
	HTTPMaxIngests    int           `name:"http-max-ingests" group:"http" placeholder:"NUMBER" help:"maximum number of concurrent request bodies that are stored as they arrive; if 0, 1,000"`
	HTTPIngestIdle    time.Duration `name:"http-ingest-idle" group:"http" placeholder:"DURATION" help:"maximum time without data of such a body; if 0, 10m"`
	RepairBytes       int           `group:"http" placeholder:"BYTES" help:"maximum size of a history to repair, and of all concurrent ones; if 0, 64 MiB"`
	QueryService      bool          `group:"http" default:"true" help:"answers on NATS about sessions, calls, events and the state of the server, on the subjects streamer.sessions, streamer.calls, streamer.events and streamer.status"`
	RepairService     bool          `group:"http" default:"true" help:"repair of histories on NATS, on the subject streamer.repair"`
}

func (f *GatewayFlags) set(c *Config) {
	c.HTTPListen, c.TokenFile, c.MetricsTokenFile, c.AuthFile = f.HTTPListen, f.HTTPTokenFile, f.MetricsTokenFile, f.Auth
	c.CertFile, c.KeyFile = f.HTTPTLSCert, f.HTTPTLSKey
	c.RepairBytes, c.RepairNATS = f.RepairBytes, f.RepairService
	o := &c.Gateway
	o.Hosts, o.Origins, o.Proxies = f.HTTPHost, f.HTTPOrigin, f.HTTPProxy
	o.MaxClients, o.MaxPerClient, o.MaxPerAddress = f.HTTPMaxClients, f.HTTPMaxPerClient, f.HTTPMaxPerAddress
	o.MaxInputRate, o.MaxByteRate, o.MaxOpen = f.HTTPMaxInputs, f.HTTPMaxInputBytes, f.HTTPMaxSessions
	o.MaxAge, o.MaxIngests, o.IngestIdle = f.HTTPMaxAge, f.HTTPMaxIngests, f.HTTPIngestIdle
}
