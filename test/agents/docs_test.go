package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of versions in docs/formats.md")

// TestDocuments checks that docs/formats.md names the pinned version of each program, by
// format.
func TestDocuments(t *testing.T) {
	const begin, end = "| format | newest version seen |\n|---|---|\n", "\n\n"
	file := filepath.Join("..", "..", "docs", "formats.md")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table of versions", file)
	}
	want := strings.Join(seen(t), "\n")
	switch {
	case got == want:
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has\n%s\nwant (go test -update)\n%s", file, got, want)
	}
}

// seen returns the rows of the table of versions.
func seen(t *testing.T) []string {
	versions := map[string][]string{}
	for _, p := range programs() {
		list, err := pins(filepath.Join(sources, p.group))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(v pin) bool { return v.name == p.pkg })
		if i < 0 {
			t.Fatalf("%s: %s does not pin %s", p.name, p.group, p.pkg)
		}
		for _, o := range p.outputs {
			if v := p.pkg + " " + list[i].version; !o.refused && !slices.Contains(versions[o.format], v) {
				versions[o.format] = append(versions[o.format], v)
			}
		}
	}
	var rows []string
	for format, list := range versions {
		rows = append(rows, "| `"+format+"` | "+strings.Join(list, ", ")+" |")
	}
	slices.Sort(rows)
	return rows
}
