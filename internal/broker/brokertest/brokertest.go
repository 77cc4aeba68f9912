// Package brokertest provides brokers and NATS servers for tests and
// measurements.
//
// It makes no promise on order, duplicates or crashes beyond those of the
// packages that it starts.
package brokertest

import (
	"context"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/natsserver"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Within is how long a test waits for an expected result. Only a test that fails waits
// for so long, and a machine that is busy with other work is no reason to fail.
const Within = 5 * time.Minute

// Start opens a broker, with an embedded server of its own unless opts names one,
// and closes it at the end of the test.
func Start(t testing.TB, opts broker.Options) *broker.Broker {
	t.Helper()
	if opts.URL == "" && opts.Embed == nil {
		opts.Embed = Embed(natsserver.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"})
	}
	b, err := broker.Open(Deadline(t), opts)
	if err == nil {
		err = b.Admit()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Embed returns the option of a broker that starts an embedded server.
func Embed(c natsserver.Config) func(func(string, error)) (broker.Embedded, error) {
	return func(notice func(string, error)) (broker.Embedded, error) { return natsserver.Start(c, notice) }
}

// Deadline returns a context that ends after Within.
func Deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Within)
	t.Cleanup(cancel)
	return ctx
}

// Connect returns a connection with the rights of streamer itself.
func Connect(t testing.TB, b *broker.Broker) *nats.Conn {
	t.Helper()
	return connect(t, b.OwnURL())
}

// JetStream connects to the JetStream of a server, with the rights of the user in the
// URL.
func JetStream(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Request sends a request to the JetStream API and fails the test where it is
// refused.
func Request(t testing.TB, nc *nats.Conn, subject, body string) []byte {
	t.Helper()
	m, err := nc.Request(subject, []byte(body), Within)
	if err == nil && errorOf(m.Data) {
		err = errors.New(string(m.Data))
	}
	if err != nil {
		t.Errorf("request on %s: %v", subject, err)
		return nil
	}
	return m.Data
}

// Must publishes p, returns its sequence, and fails the test where it is not
// stored.
func Must(t testing.TB, b *broker.Broker, p *broker.Pub) uint64 {
	t.Helper()
	a := b.PublishWait(Deadline(t), p)
	if a.Err != nil {
		t.Fatalf("publish on %s: %v", p.Subject, a.Err)
	}
	return a.Seq
}

// Main runs the tests of a package that uses servers inside synctest bubbles. All
// servers of a process share one ticker, which exists while one of them has a
// stream on disk. Main opens a broker first, so that the ticker is not created
// inside a bubble. The parallel tests wait more than they compute, so that more of them run
// at once than there are processors.
//
// In a process that NewProcesses started, it runs a server instead.
func Main(m *testing.M) {
	if file := os.Getenv(serverEnv); file != "" {
		panic(serve(file))
	}
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		panic(err)
	}
	b, err := broker.Open(context.Background(), broker.Options{Embed: Embed(natsserver.Config{DataDir: dir})})
	if err != nil {
		panic(err)
	}
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	b.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}
