package damage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// TestDamage tests every row of the table in a campaign, otherwise some.
func TestDamage(t *testing.T) {
	t.Parallel()
	plain, blocks := newFixture(t, false), (*fixture)(nil)
	if testkit.Campaigns() {
		blocks = newFixture(t, true)
	}
	for name, do := range lostSnapshots() {
		t.Run("open calls without snapshots/"+name, func(t *testing.T) {
			t.Parallel()
			plain.countedOpen(t, do)
		})
	}
	table := rows()
	for i := range table {
		r := &table[i]
		if !testkit.Campaigns() && !r.short {
			continue
		}
		f := plain
		if r.blocks {
			f = blocks
		}
		for name, test := range f.tests(r) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	}
}

// tests returns the tests of a row by name.
func (f *fixture) tests(r *row) map[string]func(*testing.T) {
	name := strings.NewReplacer(" ", "_", "`", "", "/", "").Replace(r.what + " " + r.damage)
	if r.running != nil {
		return map[string]func(*testing.T){name: func(t *testing.T) { f.damaged(t, r, killed, nil) }}
	}
	all := map[string]func(*testing.T){}
	after := r.after
	if after == nil {
		after = []stop{killed}
	}
	for _, how := range after {
		for i, do := range r.do {
			if !testkit.Campaigns() && len(all) > 0 {
				return all
			}
			all[fmt.Sprintf("%s/%s_%d", name, how, i)] = func(t *testing.T) { f.damaged(t, r, how, do) }
		}
	}
	return all
}

// TestTable checks that the table of docs/operations.md has the rows of rows.
func TestTable(t *testing.T) {
	var want []string
	table := rows()
	for i := range table {
		want = append(want, table[i].what+", "+table[i].damage)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Damaged files\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, section, _ = strings.Cut(section, "\n|---") // after the header of the table
	var got []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || strings.HasPrefix(cells[1], "--") {
			continue
		}
		for what := range strings.SplitSeq(cells[1], ",") {
			for damage := range strings.SplitSeq(cells[2], ",") {
				what, damage := strings.TrimSpace(what), strings.TrimSpace(damage)
				if name := strings.Trim(what, "`"); !strings.ContainsAny(name, "/-") && name != "lock" {
					what = name
				}
				got = append(got, what+", "+damage)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("docs/operations.md, Damaged files, has no row %q", name)
		}
	}
	for i, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("docs/operations.md, Damaged files, has the row %q, which has no test", name)
		}
		if i > 0 && got[i-1] == name {
			t.Errorf("docs/operations.md, Damaged files, has the row %q twice", name)
		}
	}
}
