package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker/brokertest"
	"streamer/internal/client"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// open opens a server on a data directory and free ports. Its snapshots and
// checkpoints are early.
func open(t *testing.T, dir string) *Server {
	t.Helper()
	c := NewConfig()
	c.Broker.DataDir, c.Broker.Listen, c.HTTPListen = dir, "127.0.0.1:0", "127.0.0.1:0"
	c.Worker.SnapshotEvery, c.Worker.DurableAfter = 100*time.Millisecond, 100*time.Millisecond
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

// TestAdmission: a client that tries to connect from the start on gets in only after all
// partitions are taken over, and the file with the URL is written only then.
func TestAdmission(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if nc, err := nats.Connect(s.Broker.URL()); err == nil {
		nc.Close()
		t.Fatal("a client is connected before the partitions are taken over")
	}
	if _, err := os.Stat(filepath.Join(dir, client.URLFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file with the URL: got %v, want that it does not exist yet", err)
	}
	connected := make(chan error, 1)
	nc, err := nats.Connect(s.Broker.URL(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(time.Millisecond),
		nats.ConnectHandler(func(*nats.Conn) {
			at, cancel := context.WithCancel(context.Background())
			cancel()
			connected <- s.Worker.WaitSettled(at, s.Broker.Partitions())
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	run(t, s)
	select {
	case err := <-connected:
		if err != nil {
			t.Errorf("a client is connected before all partitions are taken over: %v", err)
		}
	case <-time.After(brokertest.Within):
		t.Error("the client is not connected")
	}
	if password(dir, client.URLFile) == "" {
		t.Error("the file with the URL is not written")
	}
}

// TestExposed: an address beyond loopback needs authentication.
func TestExposed(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:0": "", "localhost:0": "", "[::1]:0": "",
		"0.0.0.0:0": "--http-listen 0.0.0.0:0 accepts connections from other machines: need --http-token-file or --auth",
		":0":        "--http-listen :0 accepts connections from other machines: need --http-token-file or --auth",
		"none":      "--http-listen: address none: missing port in address",
	} {
		t.Run(listen, func(t *testing.T) {
			c := Config{HTTPListen: listen}
			_, err := c.gateway(t.Context(), zerolog.Nop())
			if got := message(err); got != want {
				t.Errorf("%s: got %q, want %q", listen, got, want)
			}
		})
	}
}

// TestMetricsToken: a token for metrics alone would leave everything else public.
func TestMetricsToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{HTTPListen: "127.0.0.1:0", MetricsTokenFile: file}
	if _, err := c.gateway(t.Context(), zerolog.Nop()); !strings.Contains(message(err), "need --http-token-file or --auth, too") {
		t.Errorf("got %v", err)
	}
	c.TokenFile = file
	if o, err := c.gateway(t.Context(), zerolog.Nop()); err != nil || o.MetricsToken != "0123456789abcdef" {
		t.Errorf("got %q, %v", o.MetricsToken, err)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
