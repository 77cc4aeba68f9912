package app

import (
	"testing"

	"github.com/rs/zerolog"
)

// open opens a server on a data directory and free ports.
func open(t *testing.T, dir string) *Server {
	t.Helper()
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	return openConfig(t, c)
}

func openConfig(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), c, zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestExposed: an address beyond loopback needs authentication.
func TestExposed(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:0": "", "localhost:0": "", "[::1]:0": "",
		"0.0.0.0:0": "--http-listen 0.0.0.0:0 accepts connections from other machines: need --http-token-file or --auth",
		":0":        "--http-listen :0 accepts connections from other machines: need --http-token-file or --auth",
		"none":      "--http-listen: address none: missing port in address",
	} {
		c := Config{HTTPListen: listen}
		_, err := c.gateway(t.Context(), zerolog.Nop())
		if got := message(err); got != want {
			t.Errorf("%s: got %q, want %q", listen, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
