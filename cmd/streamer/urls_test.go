package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files with URLs are for this user alone, their passwords outlive a
// restart, and an agent's allows what it is for.
func TestURLFiles(t *testing.T) {
	dir := t.TempDir()
	var before map[string]string
	for range 2 {
		std := stdio{strings.NewReader(""), t.Output(), t.Output()}
		fs := flags("serve")
		var s serveFlags
		s.register(fs)
		if _, err := parse(std, fs, []string{"--data-dir", dir, "--nats-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}); err != nil {
			t.Fatal(err)
		}
		h, err := open(t.Context(), std, &s)
		if err != nil {
			t.Fatal(err)
		}
		now := map[string]string{}
		for _, name := range []string{urlFile, agentURLFile} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: got %v, %v, want mode 0600", name, info, err)
			}
			if now[name] = password(dir, name); now[name] == "" || before != nil && before[name] != now[name] {
				t.Errorf("%s: got password %q, want %q", name, now[name], before[name])
			}
		}
		before = now
		agent, err := os.ReadFile(filepath.Join(dir, agentURLFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.broker.Admit(); err != nil {
			t.Fatal(err)
		}
		js := jetStreamAt(t, strings.TrimSpace(string(agent)))
		if _, err := js.Publish(t.Context(), "llm.s.delta", []byte("{}")); err != nil {
			t.Errorf("an agent publishes: %v", err)
		}
		h.close()
	}
	if password(t.TempDir(), urlFile) != "" {
		t.Error("a directory without the file has a password")
	}
}
