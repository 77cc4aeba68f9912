package eventlog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/natsserver"
)

// A message that is damaged on the disk is left out, and a read to the end of its stream
// ends, wherever the message is.
func TestReadToEndDamaged(t *testing.T) {
	for damaged, want := range map[int][]uint64{2: {1, 3}, 3: {1, 2}} {
		t.Run(strconv.Itoa(damaged), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := start(t, broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: dir})})
			var prev uint64
			for n := 1; n <= 3; n++ {
				p := event(b, "s", n, prev)
				p.Data = []byte{'"', 'b', 'o', 'd', 'y', byte('0' + n), '"'}
				prev = must(t, b, p)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			flip(t, dir, broker.StreamEvents, []byte{'b', 'o', 'd', 'y', byte('0' + damaged)})

			b = start(t, broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: dir})})
			var got []uint64
			err := b.Events(brokertest.Deadline(t), "", 0, func(e events.Record) error {
				got = append(got, e.ID.Seq)
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("Events: got %v, %v, want %v", got, err, want)
			}
			recent, err := b.RecentEvents(brokertest.Deadline(t), time.Time{})
			if top := recent[b.Partition("s")].Top.ID.Seq; err != nil || top != want[1] {
				t.Errorf("RecentEvents: got event %d, %v, want %d", top, err, want[1])
			}
		})
	}
}

// flip flips a bit of a text in the first block of a stream.
func flip(t *testing.T, dir, stream string, text []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "jetstream", "*", "streams", stream, "msgs", "1.blk"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, text)
	if at < 0 {
		t.Fatalf("%s does not contain %q", files[0], text)
	}
	data[at] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}
