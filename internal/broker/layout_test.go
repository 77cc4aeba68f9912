package broker

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// A data directory of an earlier layout is refused and not changed.
func TestEarlierDirectory(t *testing.T) {
	for _, c := range []struct{ name, account, stream string }{
		{"snapshots", accountOwn, earlierSnapshots},
		{"checkpoints", accountOwn, earlierCheckpoints},
		{"before there were accounts", server.DEFAULT_GLOBAL_ACCOUNT, StreamInputs},
	} {
		dir := t.TempDir()
		stream := filepath.Join(dir, "jetstream", server.JetStreamStoreDir, c.account, "streams", c.stream)
		if err := os.MkdirAll(stream, 0o700); err != nil {
			t.Fatal(err)
		}
		before := list(t, filepath.Join(dir, "jetstream"))
		b, err := Open(deadline(t), Options{DataDir: dir})
		if err == nil {
			b.Close()
			t.Fatalf("%s: opened, want a refusal", c.name)
		}
		for _, want := range []string{stream, "earlier version of streamer", "run that version", "begin anew"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q in it", c.name, err, want)
			}
		}
		if after := list(t, filepath.Join(dir, "jetstream")); after != before {
			t.Errorf("%s: the directory has %s, want %s", c.name, after, before)
		}
	}
}

// list returns the paths below a directory.
func list(t *testing.T, dir string) string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(paths, " ")
}

// Streams of an earlier layout on a server are refused before any other is created.
func TestEarlierStreams(t *testing.T) {
	for _, name := range []string{earlierSnapshots, earlierCheckpoints} {
		s := newTestServer(t)
		js, err := jetstream.New(connect(t, s.url()))
		if err != nil {
			t.Fatal(err)
		}
		bucket := strings.TrimPrefix(name, "KV_")
		if _, err := js.CreateKeyValue(deadline(t), jetstream.KeyValueConfig{Bucket: bucket}); err != nil {
			t.Fatal(err)
		}
		for _, existing := range []bool{false, true} {
			b, err := Open(deadline(t), Options{URL: s.url(), Existing: existing})
			if err == nil {
				b.Close()
			}
			if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "begin anew") {
				t.Errorf("%s: got %v, want a refusal that names it", name, err)
			}
		}
		names := js.StreamNames(context.Background())
		var all []string
		for n := range names.Name() {
			all = append(all, n)
		}
		if len(all) != 1 || names.Err() != nil {
			t.Errorf("%s: the server has the streams %v, %v, want only that one", name, all, names.Err())
		}
	}
}
