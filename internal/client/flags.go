package client

import (
	"streamer/internal/broker"
	"streamer/internal/natsserver"
)

// RemoteFlags are the flags that name a NATS cluster.
type RemoteFlags struct {
	NATSURL     string `name:"nats-url" group:"nats" placeholder:"URL" help:"comma-separated URLs of a NATS cluster; if empty, the embedded server"`
	NATSCreds   string `name:"nats-creds" group:"nats" placeholder:"FILE" help:"credentials file"`
	NATSTLSCA   string `name:"nats-tls-ca" group:"nats" placeholder:"FILE" help:"PEM file of the certificate authorities to trust"`
	NATSTLSCert string `name:"nats-tls-cert" group:"nats" placeholder:"FILE" help:"PEM file of the client certificate"`
	NATSTLSKey  string `name:"nats-tls-key" group:"nats" placeholder:"FILE" help:"PEM file of the client certificate's key"`
}

// Options returns the options of a broker.
func (f *RemoteFlags) Options() broker.Options {
	return broker.Options{URL: f.NATSURL, Creds: f.NATSCreds, TLSCA: f.NATSTLSCA, TLSCert: f.NATSTLSCert, TLSKey: f.NATSTLSKey}
}

// NATSFlags are the flags that name a NATS cluster or an embedded server.
type NATSFlags struct {
	RemoteFlags
	DataDir string `group:"nats" placeholder:"DIRECTORY" default:"${data_dir}" help:"data directory of the embedded server"`
}

// Options returns the options of a broker.
func (f *NATSFlags) Options() BrokerOptions {
	return BrokerOptions{Options: f.RemoteFlags.Options(), Config: natsserver.Config{DataDir: f.DataDir}}
}
