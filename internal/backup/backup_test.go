package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/natsserver"
)

// TestRestoreRefused: what is not a complete backup is refused, and so is a damaged
// one.
func TestRestoreRefused(t *testing.T) {
	b := brokertest.Start(t, broker.Options{})
	dir := filepath.Join(t.TempDir(), "backup")
	if err := Create(brokertest.Deadline(t), b, dir, Report{}); err != nil {
		t.Fatal(err)
	}
	if err := Create(brokertest.Deadline(t), b, dir, Report{}); err == nil || !strings.Contains(err.Error(), dir+" exists: name a directory that does not exist") {
		t.Errorf("a second backup: got %v", err)
	}
	to, into := t.TempDir(), ""
	restore := func(dir string) error {
		into = ""
		report := Report{Into: func(server string) { into = server }}
		return Restore(brokertest.Deadline(t), broker.Options{Embed: brokertest.Embed(natsserver.Config{DataDir: to})}, dir, report)
	}
	var all manifest
	if err := readJSON(filepath.Join(dir, manifestFile), &all); err != nil || len(all.Streams) != len(copied) || all.Partitions != b.Partitions() {
		t.Errorf("got %+v, %v", all, err)
	}
	data := filepath.Join(dir, broker.StreamInputs, dataFile)
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), broker.StreamInputs) {
		t.Errorf("a truncated stream: got %v", err)
	}
	if err := os.WriteFile(data, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err != nil || !strings.HasPrefix(into, "the NATS server streamer at nats://127.0.0.1:") { // the failed one has left nothing
		t.Errorf("a complete backup: error %v, into %q", err, into)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), "exists") || into != "" {
		t.Errorf("a second restore: got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, manifestFile)); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), "not a complete backup") {
		t.Errorf("an incomplete backup: got %v", err)
	}
}
