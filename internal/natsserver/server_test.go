package natsserver

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// within is how long a test waits for an expected result.
const within = 2 * time.Minute

// start runs a server, in a directory of its own if c names none, and opens a broker
// with one partition on it.
func start(t *testing.T, c Config) (*broker.Broker, *Server) {
	t.Helper()
	if c.DataDir == "" {
		c.DataDir = t.TempDir()
	}
	var s *Server
	b, err := broker.Open(deadline(t), broker.Options{Partitions: 1, Embed: func(notice func(string, error)) (_ broker.Embedded, err error) {
		s, err = Start(c, notice)
		return s, err
	}})
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
	return b, s
}

// ignore drops the notices of a server.
func ignore(string, error) {}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	return ctx
}

// must publishes an input and returns its sequence.
func must(t *testing.T, b *broker.Broker, id string) uint64 {
	t.Helper()
	a := b.PublishWait(deadline(t), &broker.Pub{Subject: "llm.s." + string(inputs.End), Header: nats.Header{broker.HeaderMsgID: {id}}})
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	return a.Seq
}

// The streams that the package names are those of package broker.
func TestStreams(t *testing.T) {
	dir := t.TempDir()
	start(t, Config{DataDir: dir})
	entries, err := os.ReadDir(filepath.Join(dir, "jetstream", server.JetStreamStoreDir, accountOwn, "streams"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := slices.Concat(buckets(), derived(), []string{"LLM"})
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the directory has the streams %q, want %q", got, want)
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	dir := t.TempDir()
	b, _ := start(t, Config{DataDir: dir})
	_, err := Start(Config{DataDir: dir}, ignore)
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Fatalf("got %v, want an error that names %s and process %d", err, dir, os.Getpid())
	}
	b.Close()
	again, err := Start(Config{DataDir: dir}, ignore)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}

func TestNotOnLoopback(t *testing.T) {
	s, err := Start(Config{DataDir: t.TempDir(), Listen: "0.0.0.0:4222"}, ignore)
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not on loopback") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, _ := start(t, Config{Listen: l.Addr().String()})
	if b.URL() == "" || b.URL() == "nats://"+l.Addr().String() {
		t.Fatalf("URL is %q, want another port than %s", b.URL(), l.Addr())
	}
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := b.Ready(deadline(t)); err != nil {
		t.Error(err)
	}
}

// A port that another program uses before Admit is in the error.
func TestAdmitOnATakenPort(t *testing.T) {
	s, err := Start(Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"}, ignore)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := s.Admit(); err == nil || !strings.Contains(err.Error(), s.address) {
		t.Errorf("got %v, want an error that names %s", err, s.address)
	}
}
