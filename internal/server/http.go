package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"streamer/internal/auth"
	"streamer/internal/gateway"

	"github.com/rs/zerolog"
)

func (c *Config) exposed() (bool, error) {
	host, _, err := net.SplitHostPort(c.HTTPListen)
	if err != nil {
		return false, fmt.Errorf("--http-listen: %w", err)
	}
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback()), nil
}

func (c *Config) gateway(ctx context.Context, log zerolog.Logger) (o gateway.Options, err error) {
	o = c.Gateway
	if o.Exposed, err = c.exposed(); err != nil {
		return o, err
	}
	if o.Exposed && c.TokenFile == "" && c.AuthFile == "" {
		return o, fmt.Errorf("--http-listen %s accepts connections from other machines: need --http-token-file or --auth", c.HTTPListen)
	}
	if o.Token, err = readToken("--http-token-file", c.TokenFile); err != nil {
		return o, err
	}
	if o.MetricsToken, err = readToken("--metrics-token-file", c.MetricsTokenFile); err != nil {
		return o, err
	}
	if c.MetricsTokenFile != "" && c.TokenFile == "" && c.AuthFile == "" {
		return o, errors.New("--metrics-token-file: need --http-token-file or --auth, too; without them, everything is public")
	}
	if c.AuthFile != "" {
		issuers, err := auth.ReadFile(c.AuthFile)
		if err != nil {
			return o, fmt.Errorf("--auth: %w", err)
		}
		v, err := auth.New(ctx, issuers, log)
		if err != nil {
			return o, fmt.Errorf("--auth: %w", err)
		}
		o.Verify = v.Verify
	}
	if c.CertFile == "" && c.KeyFile == "" {
		if o.Exposed {
			log.Warn().Str("address", c.HTTPListen).Msg("HTTP without TLS: tokens are readable on the network unless a proxy encrypts it")
		}
		return o, nil
	}
	pair, err := newCertificate(c.CertFile, c.KeyFile, log)
	if err != nil {
		return o, fmt.Errorf("--http-tls-cert, --http-tls-key: %w", err)
	}
	o.Certificate = pair.current
	return o, nil
}

// readToken returns the token in the file of a flag, "" if there is no file.
func readToken(flag, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", fmt.Errorf("%s: %s is empty", flag, name)
	}
	return token, nil
}

func listen(address string) (*net.TCPListener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--http-listen: %s is in use; stop the process that uses it (`ss -ltnp` lists them), or name another address, such as 127.0.0.1:0 for a free port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("--http-listen: %w", err)
	}
	return l.(*net.TCPListener), nil // which listeners of tcp are
}
