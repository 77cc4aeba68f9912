package broker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIdentity: a stream without a recorded identity, as where a start ended before it
// recorded it, gets it at the next start.
func TestIdentity(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	var before, after streamInfo
	if err := b.ask(deadline(t), apiStreamInfo+StreamInputs, nil, &before); err != nil {
		t.Fatal(err)
	}
	identity := before.Config.Metadata[metaIdentity]
	if identity == "" {
		t.Fatalf("no identity in %v", before.Config.Metadata)
	}
	delete(before.Config.Metadata, metaIdentity)
	if err := b.ask(deadline(t), apiStreamUpdate+StreamInputs, before.Config, &streamInfo{}); err != nil {
		t.Fatal(err)
	}
	start(t, Options{URL: b.OwnURL(), Existing: true}) // a tool does not change it
	start(t, Options{URL: b.OwnURL()})
	if err := b.ask(deadline(t), apiStreamInfo+StreamInputs, nil, &after); err != nil {
		t.Fatal(err)
	}
	if got := after.Config.Metadata[metaIdentity]; got != identity {
		t.Errorf("got the identity %q, want %q", got, identity)
	}
}

// TestRestoreRefused: what is not a complete backup is refused, and so is a damaged
// one.
func TestRestoreRefused(t *testing.T) {
	b := start(t, Options{Embed: embed(t.TempDir(), "127.0.0.1:0")})
	dir := filepath.Join(t.TempDir(), "backup")
	if err := b.Backup(deadline(t), dir, BackupReport{}); err != nil {
		t.Fatal(err)
	}
	if err := b.Backup(deadline(t), dir, BackupReport{}); err == nil || !strings.Contains(err.Error(), dir+" exists: name a directory that does not exist") {
		t.Errorf("a second backup: got %v", err)
	}
	to := t.TempDir()
	restore := func(dir string) error {
		return Restore(deadline(t), Options{Embed: embed(to, "")}, dir, BackupReport{})
	}
	var all backupOf
	if err := readJSON(filepath.Join(dir, backupFile), &all); err != nil || len(all.Streams) != len(backupStreams) || all.Partitions != b.Partitions() {
		t.Errorf("got %+v, %v", all, err)
	}
	data := filepath.Join(dir, StreamInputs, backupDataFile)
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), StreamInputs) {
		t.Errorf("a truncated stream: got %v", err)
	}
	if err := os.WriteFile(data, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err != nil { // the failed one has left nothing
		t.Errorf("a complete backup: %v", err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second restore: got %v", err)
	}
	if err := os.Remove(filepath.Join(dir, backupFile)); err != nil {
		t.Fatal(err)
	}
	if err := restore(dir); err == nil || !strings.Contains(err.Error(), "not a complete backup") {
		t.Errorf("an incomplete backup: got %v", err)
	}
}
