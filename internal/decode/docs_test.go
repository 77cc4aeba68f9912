package decode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocuments checks that the documents name every format: each table and list of formats
// in docs/formats.md has a row.
func TestDocuments(t *testing.T) {
	formatsMD := document(t, "formats.md")
	read := firstCells(formatsMD, "What is read from each format")
	args := firstCells(formatsMD, "When args are complete")
	shapes := firstCells(formatsMD, "Shapes of synthetic results")
	for _, f := range formats {
		name := "`" + f.Name + "`"
		has := func(cell string) bool { return strings.Contains(cell, name) }
		if !slices.ContainsFunc(read, has) {
			t.Errorf("docs/formats.md, What is read from each format: no row of %s", name)
		}
		if !slices.ContainsFunc(args, has) {
			t.Errorf("docs/formats.md, When args are complete: no row of %s", name)
		}
		if other := f.Shape != "openai"; slices.ContainsFunc(shapes, has) != other {
			t.Errorf("docs/formats.md, Shapes of synthetic results: a row of %s is %v, want %v: the shape is %s", name, !other, other, f.Shape)
		}
	}
}

// document returns the text of a file in docs.
func document(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// firstCells returns the first cell of each table row in a section, and what precedes the
// colon of each item of a list.
func firstCells(doc, section string) (cells []string) {
	_, text, _ := strings.Cut(doc, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if row, ok := strings.CutPrefix(line, "| "); ok {
			cell, _, _ := strings.Cut(row, " | ")
			cells = append(cells, cell)
		}
		if item, ok := strings.CutPrefix(line, "- "); ok {
			cell, _, _ := strings.Cut(item, ": ")
			cells = append(cells, cell)
		}
	}
	return cells
}
