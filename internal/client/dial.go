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
	"time"
)

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
