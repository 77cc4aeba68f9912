package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMetricNames: each metric has a unique name and a line of help, and is
// documented.
func TestMetricNames(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	server := open(t, t.TempDir())
	seen := map[string]bool{}
	for _, m := range server.metrics(t.Context()) {
		short, ours := strings.CutPrefix(m.Name, "streamer_")
		switch {
		case !ours || !regexp.MustCompile(`^[a-z_]+$`).MatchString(short):
			t.Errorf("%s: want streamer_ and lower-case letters", m.Name)
		case seen[m.Name]:
			t.Errorf("%s: twice", m.Name)
		case !strings.HasSuffix(m.Help, ".") || strings.Contains(m.Help, "\n"):
			t.Errorf("%s: help %q, want one sentence", m.Name, m.Help)
		case !regexp.MustCompile("`" + short + "[`{]").Match(doc):
			t.Errorf("%s: docs/operations.md does not mention it", m.Name)
		}
		seen[m.Name] = true
	}
	if len(seen) < 20 {
		t.Errorf("got %d metrics, want all", len(seen))
	}
}
