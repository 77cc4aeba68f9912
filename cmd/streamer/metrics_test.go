package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every number has a name of its own, a line of help, and a place in the
// documentation.
func TestMetricNames(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	std := stdio{strings.NewReader(""), &out, &out}
	fs := flags("serve")
	var s serveFlags
	s.register(fs)
	if _, err := parse(std, fs, []string{"--data-dir", t.TempDir(), "--nats-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	h, err := open(t.Context(), std, &s)
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	seen := map[string]bool{}
	for _, m := range h.metrics(t.Context()) {
		short, ours := strings.CutPrefix(m.Name, "streamer_")
		switch {
		case !ours || !regexp.MustCompile(`^[a-z_]+$`).MatchString(short):
			t.Errorf("%s: want streamer_ and small letters", m.Name)
		case seen[m.Name]:
			t.Errorf("%s: twice", m.Name)
		case !strings.HasSuffix(m.Help, ".") || strings.Contains(m.Help, "\n"):
			t.Errorf("%s: help %q, want one sentence", m.Name, m.Help)
		case !regexp.MustCompile("`" + short + "[`{]").Match(doc):
			t.Errorf("%s: docs/operations.md does not tell of it", m.Name)
		}
		seen[m.Name] = true
	}
	if len(seen) < 20 {
		t.Errorf("got %d metrics, want all", len(seen))
	}
}
