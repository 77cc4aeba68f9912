package natsserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"streamer/internal/broker"
	"streamer/test/testkit"
)

// Any bit of the length of a checkpoint's headers may be flipped. The server's checksums
// do not cover it. Checkpoints can be read and written afterwards, if necessary after
// their block was removed; the server is not started again for that.
func TestDamagedHeaderLength(t *testing.T) {
	dir := t.TempDir()
	block := checkpointBlock(t, dir)
	good, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(good, []byte("NATS/1.0\r\n")) - 4
	for bit := range 32 {
		t.Run(fmt.Sprint(bit), func(t *testing.T) {
			damaged := bytes.Clone(good)
			damaged[at+bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(block, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			b, s := start(t, Config{DataDir: dir})
			for seq := uint64(10); seq < 12; seq++ {
				testkit.UntilTrue(t, "another checkpoint", func() bool {
					_, rev, err := b.LoadCheckpoint(deadline(t), 0)
					if err == nil || errors.Is(err, broker.ErrDamaged) {
						_, err = b.WriteCheckpoint(deadline(t), 0, broker.Checkpoint{Seq: seq, Rules: json.RawMessage("{}")}, rev)
					}
					return err == nil
				})
			}
			testkit.UntilTrue(t, "the last checkpoint", func() bool {
				c, _, err := b.LoadCheckpoint(deadline(t), 0)
				return err == nil && c.Seq == 11 && s.Problem() == nil
			})
			if n := s.Restarts(); n > 0 {
				t.Errorf("the server was started again %d times", n)
			}
		})
	}
}

// FuzzUnreadable checks that any bytes are read without a panic.
func FuzzUnreadable(f *testing.F) {
	record := []byte("\x3a\x00\x00\x80\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00c.0\x00\x00\x10\x00NATS/1.0\r\nA:b\r\n\r\n{}01234567")
	record[0] = byte(len(record))
	f.Add(record)
	f.Add(append(bytes.Clone(record), record...))
	f.Add(record[:40])
	f.Fuzz(func(_ *testing.T, block []byte) { unreadable(block) })
}

// checkpointBlock stores three checkpoints in a data directory and returns the file
// that has them.
func checkpointBlock(t *testing.T, dir string) string {
	t.Helper()
	b, _ := start(t, Config{DataDir: dir})
	var rev uint64
	for seq := range uint64(3) {
		var err error
		if rev, err = b.WriteCheckpoint(deadline(t), 0, broker.Checkpoint{Seq: seq + 1}, rev); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(dir, "jetstream", "jetstream", accountOwn, "streams", "KV_STREAMER_CHECKPOINT", "msgs", "*.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatal(blocks, err)
	}
	return blocks[0]
}
