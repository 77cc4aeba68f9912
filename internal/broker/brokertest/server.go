package brokertest

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server with JetStream that a test can stop and start. It has
// no accounts: every client may do everything unless Options says otherwise.
type Server struct {
	*server.Server
	Options *server.Options // changes apply at the next Start
	t       testing.TB
}

// NewServer starts a server on a free loopback port, and stops it at the end of
// the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, Options: options(t, freePorts(t, 1)[0])}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

func options(t testing.TB, port int) *server.Options {
	return &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true, MaxPayload: 1 << 20,
		JetStream: true, StoreDir: t.TempDir(), SyncInterval: time.Second, JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 4 << 30,
	}
}

// Start starts the server.
func (s *Server) Start() {
	s.t.Helper()
	var err error
	if s.Server, err = server.NewServer(s.Options.Clone()); err != nil {
		s.t.Fatal(err)
	}
	s.Server.Start()
	if !s.ReadyForConnections(Within) {
		s.t.Fatal("the server did not start")
	}
}

// Stop stops the server and waits for its end.
func (s *Server) Stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

// URL returns the address that clients connect to.
func (s *Server) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(s.Options.Port) }

func errorOf(answer []byte) bool {
	var a struct {
		Error *struct{} `json:"error"`
	}
	return json.Unmarshal(answer, &a) != nil || a.Error != nil
}
