package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/inputs"

	"github.com/nats-io/nats-server/v2/server"
)

// The streams of a data directory from before there were accounts are found
// again, and two sets of them are refused.
func TestAdoptStreams(t *testing.T) {
	dir := t.TempDir()
	s := &testServer{t: t, opts: serverOptions(Options{DataDir: dir}, "127.0.0.1", 0)}
	s.opts.Port = server.RANDOM_PORT
	s.start()
	before, err := Open(deadline(t), Options{URL: s.ClientURL(), Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	must(t, before, before.InputPub("s", inputs.Delta, "1", nil, []byte("kept")))
	before.Close()
	s.stop()

	b := start(t, Options{DataDir: dir})
	if _, last, err := b.InputBounds(deadline(t)); last != 1 || err != nil || b.Partitions() != 3 {
		t.Errorf("got %d inputs in %d partitions, %v, want 1 in 3", last, b.Partitions(), err)
	}
	b.Close()

	again := filepath.Join(dir, "jetstream", server.JetStreamStoreDir, server.DEFAULT_GLOBAL_ACCOUNT, "streams", streamInputs)
	if err := os.MkdirAll(again, 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := Open(deadline(t), Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "which of them are current") {
		t.Errorf("two sets of streams: got %v, %v, want a refusal", b, err)
	}
}
