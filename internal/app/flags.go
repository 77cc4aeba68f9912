package app

import "flag"

// GatewayFlags registers the flags of the gateway and of the repair service.
func (c *Config) GatewayFlags(fs *flag.FlagSet) {
	o := &c.Gateway
	list := func(to *[]string, name, usage string) {
		fs.Func(name, usage+"; may be repeated", func(s string) error {
			*to = append(*to, s)
			return nil
		})
	}
	fs.StringVar(&c.HTTPListen, "http-listen", c.HTTPListen, "`address` of the page and the HTTP API; an address beyond loopback needs --http-token-file or --auth")
	fs.StringVar(&c.TokenFile, "http-token-file", "", "`file` with a token that permits everything to HTTP clients that send it")
	fs.StringVar(&c.AuthFile, "auth", "", "JSON `file` with the issuers of JSON Web Tokens that HTTP clients may send, which docs/gateway.md describes")
	fs.StringVar(&c.CertFile, "http-tls-cert", "", "PEM `file` of the certificate for HTTPS and HTTP/2; read again when it changes; if empty, HTTP without TLS")
	fs.StringVar(&c.KeyFile, "http-tls-key", "", "PEM `file` of the key of --http-tls-cert")
	list(&o.Hosts, "http-host", "host `name` under which the HTTP API can be reached besides loopback")
	list(&o.Origins, "http-origin", "foreign `origin` whose pages may use the HTTP API, such as https://app.example.com")
	list(&o.Proxies, "http-proxy", "`address` or network of a proxy, besides loopback, whose X-Forwarded-For names the client")
	fs.IntVar(&o.MaxClients, "http-max-clients", 0, "maximum `number` of concurrent event streams; if 0, 10,000")
	fs.IntVar(&o.MaxPerClient, "http-max-per-client", 0, "maximum `number` of concurrent event streams with JSON Web Tokens of one subject; if 0, 100")
	fs.IntVar(&o.MaxPerAddress, "http-max-per-address", 0, "maximum `number` of concurrent event streams, and of connections, from one address beyond loopback; if 0, 1,000")
	fs.DurationVar(&o.MaxAge, "http-max-age", 0, "maximum `time` that an event stream that can be resumed stays open; if 0, 1h; if negative, without limit")
	fs.IntVar(&o.MaxIngests, "http-max-ingests", 0, "maximum `number` of concurrent request bodies that are stored as they arrive; if 0, 1,000")
	fs.DurationVar(&o.IngestIdle, "http-ingest-idle", 0, "maximum `time` without data of such a body; if 0, 10m")
	fs.IntVar(&c.RepairBytes, "repair-bytes", 0, "maximum size in `bytes` of a history to repair, and of all histories that are repaired at once; if 0, 64 MiB")
	fs.BoolVar(&c.RepairNATS, "repair-service", c.RepairNATS, "also repair histories on NATS, on the subject streamer.repair")
}
