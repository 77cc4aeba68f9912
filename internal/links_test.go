package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`^#+ (.+)`)
	target  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noWord  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinks: each relative link of a document leads to a file that exists, and to a
// heading of it.
func TestLinks(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == "testdata" || name == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(prose(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			checkLink(t, path, m[1], m[2])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 200 {
		t.Errorf("checked %d links, want at least 200: the pattern does not match", checked)
	}
}

func checkLink(t *testing.T, from, file, anchor string) {
	t.Helper()
	to := from
	if file != "" {
		to = filepath.Join(filepath.Dir(from), file)
	}
	if _, err := os.Stat(to); err != nil {
		t.Errorf("%s: %v", from, err)
		return
	}
	if anchor == "" || filepath.Ext(to) != ".md" {
		return
	}
	for line := range strings.Lines(prose(t, to)) {
		if m := heading.FindStringSubmatch(line); m != nil && anchorOf(m[1]) == anchor {
			return
		}
	}
	t.Errorf("%s: %s has no heading #%s", from, to, anchor)
}

// anchorOf returns the anchor of a heading, as GitHub forms it.
func anchorOf(text string) string {
	text = strings.ToLower(target.ReplaceAllString(text, "$1"))
	return strings.ReplaceAll(noWord.ReplaceAllString(text, ""), " ", "-")
}

// prose returns a document without its blocks of code.
func prose(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	inside := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
		} else if !inside {
			b.WriteString(line)
		}
	}
	return b.String()
}
