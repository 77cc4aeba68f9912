package natsserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"streamer/internal/broker"
)

// A damaged length of headers in any record of the checkpoints is restored when the
// embedded server starts. Without that, the server hangs at the next checkpoint.
func TestHeaderLengthIsRestored(t *testing.T) {
	dir := t.TempDir()
	block := checkpointBlock(t, dir)
	good, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	if got := wrongHeaderLengths(good); len(got) > 0 {
		t.Fatalf("the lengths of an undamaged block are wrong: %v", got)
	}
	damaged := bytes.Clone(good)
	fields := 0
	for rest := 0; ; fields++ {
		i := bytes.Index(good[rest:], []byte("NATS/1.0\r\n"))
		if i < 0 {
			break
		}
		damaged[rest+i-1-fields%4] ^= 1 << 4
		rest += i + 1
	}
	if err := os.WriteFile(block, damaged, 0o600); err != nil || fields < 3 {
		t.Fatalf("%d records: %v", fields, err)
	}

	b, _ := start(t, Config{DataDir: dir})
	c, rev, err := b.LoadCheckpoint(deadline(t), 0)
	if err != nil || c.Seq != 3 {
		t.Fatalf("got the checkpoint %+v, %v, want the last one", c, err)
	}
	if _, err := b.WriteCheckpoint(deadline(t), 0, broker.Checkpoint{Seq: 4, Rules: json.RawMessage("{}")}, rev); err != nil {
		t.Error(err)
	}
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

// FuzzHeaderLengths checks that any bytes are read without a panic, and that a block
// has no wrong length after they were corrected.
func FuzzHeaderLengths(f *testing.F) {
	record := []byte("\x3a\x00\x00\x80\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00c.0\x00\x00\x10\x00NATS/1.0\r\nA:b\r\n\r\n{}01234567")
	record[0] = byte(len(record))
	f.Add(record)
	f.Add(append(bytes.Clone(record), record...))
	f.Add(record[:40])
	f.Fuzz(func(t *testing.T, block []byte) {
		for _, l := range wrongHeaderLengths(block) {
			if end := l.at + 4 + int(l.value); l.at < recordHead || end > len(block)-recordSum {
				t.Fatalf("the headers at %d end at %d of %d bytes", l.at, end, len(block))
			}
			copy(block[l.at:], []byte{byte(l.value), byte(l.value >> 8), byte(l.value >> 16), byte(l.value >> 24)})
		}
		if again := wrongHeaderLengths(block); len(again) > 0 {
			t.Fatalf("still wrong: %v", again)
		}
	})
}
