package broker

import (
	"context"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

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
