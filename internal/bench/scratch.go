package bench

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// scratchTimeout is the maximum duration of a start.
const scratchTimeout = 2 * time.Minute

// scratch runs a NATS server on a free loopback port, for measurements
// only. Unlike the embedded server it lets every client publish everything, so
// that streamer and the code it is compared with can use the same kind of
// connection. It keeps its data in dir. stop stops it.
func scratch(dir string) (url string, stop func(), err error) {
	s, err := server.NewServer(&server.Options{
		ServerName: "scratch", Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: dir, SyncInterval: time.Second,
	})
	if err != nil {
		return "", nil, fmt.Errorf("bench: scratch server: %w", err)
	}
	s.Start()
	stop = func() { s.Shutdown(); s.WaitForShutdown() }
	if !s.ReadyForConnections(scratchTimeout) || !s.JetStreamEnabled() {
		stop()
		return "", nil, errors.New("bench: scratch server did not start")
	}
	return s.ClientURL(), stop, nil
}
