// Package client connects to the streams of a server, and does the work of the
// commands that use them: it publishes recorded streams and interrupts, repairs
// histories with the event log, and follows the outcome of inputs. Dial creates no
// stream. For the order of inputs and events, and for crashes, the promises of broker
// apply unchanged.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/broker/inputlog"
	"streamer/internal/natsserver"
)

type (
	inputLog = inputlog.Log
	eventLog = eventlog.Log
)

// Broker is a broker with its input log and its event log.
type Broker struct {
	*broker.Broker
	*inputLog
	*eventLog
	references sync.Mutex // held while an erasure reads which large values are referred to
}

// BrokerOptions name a NATS server and configure its streams. If no URL is set, it is the
// embedded server with this configuration.
type BrokerOptions struct {
	broker.Options
	natsserver.Config
}

// Embedding returns the options of a broker that runs the embedded server where it is
// the one of o.
func (o *BrokerOptions) Embedding() broker.Options {
	options, c := o.Options, o.Config
	options.Embed = func(notice func(string, error)) (broker.Embedded, error) { return natsserver.Start(c, notice) }
	return options
}

// OpenBroker opens a broker and its logs, as broker.Open does.
func OpenBroker(ctx context.Context, o broker.Options) (*Broker, error) {
	b, err := broker.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Broker{Broker: b, inputLog: inputlog.New(b), eventLog: eventlog.New(b)}, nil
}

// ConnectionError is the error of a connection to the streams, with what to do.
type ConnectionError struct {
	Err error
	Fix string
}

func (e *ConnectionError) Error() string { return e.Err.Error() + "; " + e.Fix }

func (e *ConnectionError) Unwrap() error { return e.Err }

// CredentialsFix returns what to do if the user of a connection is the cause of an
// error, "" if it is not.
func CredentialsFix(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "Authorization Violation"):
		return "check the user and password in --nats-url, or --nats-creds"
	case errors.Is(err, broker.ErrRefused), strings.Contains(text, "no JetStream"), strings.Contains(text, Violation):
		return "connect as streamer's own user, in the account of the streams (STREAMER in deploy/nats/accounts.conf; the file nats-url in the data directory of an embedded server), which may publish everything but toolcalls.>; streamer doctor --role checks the user of a client"
	}
	return ""
}

// Violation is in the text of an error about a missing permission.
const Violation = "Permissions Violation"

// URLFile is the file of the data directory with the URL of the running embedded
// server, for the commands of streamer itself.
const URLFile = "nats-url"

// DefaultNATS is the default address of the embedded server.
const DefaultNATS = "127.0.0.1:4222"

const dialTime = 10 * time.Second

// Dial connects to the streams of a running server: the one at o.URL or, if that is
// "", the embedded server of the data directory. It creates no stream.
func Dial(ctx context.Context, o BrokerOptions) (*Broker, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if err := locate(&o); err != nil {
		return nil, err
	}
	o.Existing = true
	b, err := OpenBroker(ctx, o.Options)
	if err != nil {
		return nil, &ConnectionError{err, cmp.Or(CredentialsFix(err), "start streamer serve, or name the server with --nats-url and --nats-creds, or the data directory with --data-dir")}
	}
	return b, nil
}

// WithBroker calls fn with the connection that Dial returns, and closes it afterwards.
func WithBroker(ctx context.Context, o BrokerOptions, fn func(b *Broker) error) error {
	b, err := Dial(ctx, o)
	if err != nil {
		return err
	}
	defer b.Close()
	return fn(b)
}

func locate(o *BrokerOptions) error {
	if o.URL != "" {
		return nil
	}
	switch text, err := os.ReadFile(filepath.Join(o.DataDir, URLFile)); {
	case errors.Is(err, os.ErrNotExist):
		o.URL = "nats://" + DefaultNATS
	case err != nil:
		return fmt.Errorf("--data-dir: %w", err) // the server at the default address belongs to another directory
	default:
		o.URL = strings.TrimSpace(string(text))
	}
	return nil
}

// LocateClient sets the URL for clients of the embedded server, which have no
// password, if none is set.
func LocateClient(o *BrokerOptions) error {
	if o.URL != "" {
		return nil
	}
	if err := locate(o); err != nil {
		return err
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return fmt.Errorf("--data-dir: the file %s has no URL", URLFile)
	}
	u.User = nil
	o.URL = u.String()
	return nil
}

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
