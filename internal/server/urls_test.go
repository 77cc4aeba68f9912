package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/internal/client"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestURLFiles: only this user can read the files with URLs, their passwords
// survive a restart, and an agent can publish with its URL.
func TestURLFiles(t *testing.T) {
	dir := t.TempDir()
	var before map[string]string
	for _, start := range []string{"first", "second"} {
		t.Run(start, func(t *testing.T) {
			run(t, open(t, dir))
			now := map[string]string{}
			for _, name := range []string{client.URLFile, agentURLFile} {
				if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
				}
				if now[name] = password(dir, name); now[name] == "" || before != nil && before[name] != now[name] {
					t.Errorf("%s: got password %q, want %q", name, now[name], before[name])
				}
			}
			before = now
			publishAsAgent(t, dir)
		})
	}
	if password(t.TempDir(), client.URLFile) != "" {
		t.Error("a directory without the file has a password")
	}
}

func publishAsAgent(t *testing.T, dir string) {
	t.Helper()
	url, err := os.ReadFile(filepath.Join(dir, agentURLFile))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(strings.TrimSpace(string(url)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "llm.s.delta", []byte("{}")); err != nil {
		t.Errorf("an agent publishes: %v", err)
	}
}
