package brokertest

import (
	"context"
	"os"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/natsserver"
)

// Main runs the tests of a package that uses servers inside synctest bubbles. All
// servers of a process share one ticker, which exists while one of them has a
// stream on disk. Main opens a broker first, so that the ticker is not created
// inside a bubble.
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
	code := m.Run()
	b.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}
