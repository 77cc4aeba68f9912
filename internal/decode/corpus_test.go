package decode

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// shared returns the folder of recorded streams, or skips the test.
func shared(t *testing.T, path ...string) string {
	t.Helper()
	dir := testkit.Shared(path...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded streams at %s; set STREAMER_SHARED", dir)
	}
	return dir
}

// TestCorpusIsRecognised reads the recorded streams of these formats without a named
// format. Every event must be used.
func TestCorpusIsRecognised(t *testing.T) {
	for folder, want := range map[string]string{"openai-chat": "openai-chat", "mistral": "openai-chat", "anthropic": "anthropic"} {
		t.Run(folder, func(t *testing.T) {
			dir := shared(t, "formats", "corpus", folder)
			files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no streams in %s: %v", dir, err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var m State
				var r Reader
				for line := range bytes.Lines(data) {
					line = bytes.TrimSpace(line)
					if got := transcript(&r, &m, line, ""); strings.Contains(got, "problem ") {
						t.Errorf("%s\ninput %.300s\ngot %s", file, line, got)
					}
				}
				if m.Format != want {
					t.Errorf("%s: recognised as %q, want %q", file, m.Format, want)
				}
			}
		})
	}
}
