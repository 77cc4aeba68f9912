package internal_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// modules returns the short name of each external module that internal/imports.txt
// uses, and its import path.
func modules() map[string]string {
	return map[string]string{
		"gjson":       "github.com/tidwall/gjson",
		"zerolog":     "github.com/rs/zerolog",
		"nats.go":     "github.com/nats-io/nats.go",
		"nats-server": "github.com/nats-io/nats-server",
		"nuid":        "github.com/nats-io/nuid",
		"compress":    "github.com/klauspost/compress",
		"brotli":      "github.com/andybalholm/brotli",
		"xxhash":      "github.com/cespare/xxhash/v2",
		"websocket":   "github.com/coder/websocket",
		"aws":         "github.com/aws/aws-sdk-go-v2",
		"kong":        "github.com/alecthomas/kong",
		"yaml":        "go.yaml.in/yaml/v3",
		"go-jose":     "github.com/go-jose/go-jose/v4",
		"prometheus":  "github.com/prometheus/client_golang/prometheus",
		"rate":        "golang.org/x/time/rate",
		"otel":        "go.opentelemetry.io/otel",
		"jsonschema":  "github.com/santhosh-tekuri/jsonschema/v6",
		"flock":       "github.com/gofrs/flock",
		"x/sync":      "golang.org/x/sync",
		"x/sys":       "golang.org/x/sys",
		"x509roots":   "golang.org/x/crypto/x509roots",
		"minio":       "github.com/minio/minio-go/v7",
		"registry":    "github.com/google/go-containerregistry",
	}
}

// row is one row of internal/imports.txt.
type row struct {
	packages   []string // directories of the module, or the name of an external module; <…> stands for any one element
	planned    bool     // the package need not exist
	may        []string // allowed imports besides the standard library
	importedBy []string // further packages that may import these
}

// table holds the allowed imports. Packages are listed after what they import.
type table []row

// readTable parses internal/imports.txt.
func readTable(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile("imports.txt")
	if err != nil {
		t.Fatal(err)
	}
	tab := parseTable(string(text))
	if len(tab) < 20 {
		t.Fatalf("internal/imports.txt: %d rows, want 20 at least", len(tab))
	}
	return tab
}

// parseTable returns the rows of a text.
func parseTable(text string) table {
	var tab table
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| `") {
			tab = append(tab, parseRow(line))
		}
	}
	return tab
}

// parseRow returns the row of one line: package, responsibility, allowed
// imports and, in the second table, further importers.
func parseRow(line string) row {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	name, planned := strings.CutSuffix(cells[0], " (planned)")
	r := row{packages: expand(strings.Trim(name, "`")), planned: planned}
	if len(cells) > 2 {
		r.may = terms(cells[2])
	}
	if len(cells) > 3 {
		for _, by := range terms(cells[3]) {
			r.importedBy = append(r.importedBy, directory(by))
		}
	}
	return r
}

// terms returns the entries of a cell; a dash stands for none.
func terms(cell string) []string {
	if cell == "" || cell == "–" {
		return nil
	}
	return strings.Split(cell, ", ")
}

// expand returns the names that a name with one list in braces stands for.
func expand(name string) []string {
	name = strings.TrimSuffix(name, "/")
	before, rest, ok := strings.Cut(name, "{")
	if !ok {
		return []string{name}
	}
	list, after, _ := strings.Cut(rest, "}")
	var all []string
	for item := range strings.SplitSeq(list, ",") {
		all = append(all, before+item+after)
	}
	return all
}

// directory returns the directory that a term of a cell names: internal/ is
// left out there.
func directory(term string) string {
	if top, _, _ := strings.Cut(term, "/"); slices.Contains([]string{"examples", "cmd", "deploy", "test"}, top) {
		return term
	}
	return "internal/" + term
}

// find returns the index of the row that lists dir. A row that names dir
// comes before one with a pattern. It returns -1 if there is none.
func (tab table) find(dir string) int {
	for i, r := range tab {
		if slices.Contains(r.packages, dir) {
			return i
		}
	}
	for i, r := range tab {
		if r.lists(dir) {
			return i
		}
	}
	return -1
}

// lists reports whether dir is one of the packages of r. The row of test/
// lists everything below it.
func (r row) lists(dir string) bool {
	return slices.ContainsFunc(r.packages, func(p string) bool {
		before, _, pattern := strings.Cut(p, "<")
		rest, below := strings.CutPrefix(dir, before)
		switch {
		case p == dir, p == "test" && strings.HasPrefix(dir, "test/"):
			return true
		case pattern:
			return below && rest != "" && !strings.Contains(rest, "/")
		}
		return false
	})
}

// core reports whether dir is in the core: the rows from events to encode, and
// what these may import.
func (tab table) core(dir string) bool {
	i, last := tab.find(dir), tab.find("internal/encode")
	return i >= 0 && (i <= last || slices.ContainsFunc(tab[i].importedBy, func(by string) bool {
		j := tab.find(by)
		return j >= 0 && j <= last
	}))
}

// allows reports whether the package in dir may import the package or module
// target.
func (tab table) allows(dir, target string) bool {
	from, to := tab.find(dir), tab.find(target)
	if from >= 0 && slices.ContainsFunc(tab[from].may, func(term string) bool { return tab.matches(from, term, target) }) {
		return true
	}
	return to >= 0 && slices.Contains(tab[to].importedBy, dir)
}

// matches reports whether a term in the row at index from includes target.
// Only the term "any" includes the servers for tests.
func (tab table) matches(from int, term, target string) bool {
	switch {
	case term == "any":
		return true
	case target == "internal/broker/brokertest":
		return false
	case strings.HasSuffix(term, "all above"):
		if modules()[target] == "" {
			to := tab.find(target)
			return to >= 0 && to < from
		}
		return slices.ContainsFunc(tab[:from], func(r row) bool { return slices.Contains(r.may, target) })
	case strings.HasSuffix(term, " and its imports"):
		name := directory(strings.TrimSuffix(term, " and its imports"))
		return target == name || tab.allows(name, target)
	case strings.HasSuffix(term, "/…"):
		name := directory(strings.TrimSuffix(term, "/…"))
		return target == name || strings.HasPrefix(target, name+"/")
	}
	return target == term || target == directory(term)
}

// TestTableOrder checks that each row names only packages of rows above it and
// known modules.
func TestTableOrder(t *testing.T) {
	if problems := readTable(t).unordered(); len(problems) > 0 {
		t.Error(strings.Join(problems, "\n"))
	}
}

// unordered returns a line for each term that names no package of a row above
// it and no known module.
func (tab table) unordered() []string {
	var found []string
	for i, r := range tab {
		for _, term := range r.may {
			name := directory(strings.TrimSuffix(strings.TrimSuffix(term, " and its imports"), "/…"))
			above := slices.ContainsFunc(tab[:i], func(r row) bool { return slices.Contains(r.packages, name) }) ||
				strings.HasSuffix(term, "/…") && i > 0 && strings.HasPrefix(tab[i-1].packages[0], name+"/")
			if !above && modules()[term] == "" && term != "any" && !strings.HasSuffix(term, "all above") {
				found = append(found, fmt.Sprintf("internal/imports.txt: %s may import %s, which no row above it lists", r.packages[0], term))
			}
		}
	}
	return found
}

// TestTableMeaning checks how the terms of a table are understood.
func TestTableMeaning(t *testing.T) {
	tab := parseTable(`
| package | responsibility | may import |
|---|---|---|
| ` + "`internal/events`" + ` | events | – |
| ` + "`internal/wire`" + ` | shared | events |
| ` + "`internal/decode/<family>`" + ` | one each | wire, gjson |
| ` + "`internal/decode`" + ` | formats | decode/…, wire |
| ` + "`internal/encode`" + ` | protocols | events |
| ` + "`internal/broker`" + ` | NATS | events, nats.go |
| ` + "`internal/broker/{log,brokertest}`" + ` | logs | broker and its imports |
| ` + "`internal/tap`" + ` (planned) | proxy | broker/… |
| ` + "`internal/server`" + ` | wiring | all above |
| ` + "`test/`" + ` | tests | any |

| package | responsibility | may import | imported by |
|---|---|---|---|
| ` + "`internal/near`" + ` | names | – | decode, server |
| ` + "`deploy/nats`" + ` | files | – | broker |
`)
	if len(tab) != 12 || !tab[7].planned || tab[6].planned {
		t.Fatalf("got %d rows, want 12 and the 8th planned: %v", len(tab), tab)
	}
	for _, c := range []struct {
		dir, target string
		want        bool
	}{
		{"internal/events", "internal/wire", false},
		{"internal/wire", "internal/events", true},
		{"internal/decode/openai", "internal/wire", true},
		{"internal/decode/openai", "gjson", true},
		{"internal/decode/openai", "internal/events", false},
		{"internal/decode/openai", "internal/decode/cohere", false},
		{"internal/decode", "internal/decode/openai", true},
		{"internal/decode", "internal/near", true},
		{"internal/encode", "internal/near", false},
		{"internal/broker", "deploy/nats", true},
		{"internal/broker/log", "internal/broker", true},
		{"internal/broker/log", "nats.go", true},
		{"internal/broker/log", "deploy/nats", true},
		{"internal/broker/log", "gjson", false},
		{"internal/tap", "internal/broker", true},
		{"internal/tap", "internal/broker/log", true},
		{"internal/tap", "internal/broker/brokertest", false},
		{"internal/server", "internal/tap", true},
		{"internal/server", "nats.go", true},
		{"internal/server", "zerolog", false},
		{"internal/server", "internal/broker/brokertest", false},
		{"test/e2e", "internal/broker/brokertest", true},
		{"internal/none", "internal/events", false},
	} {
		t.Run(c.dir+" "+c.target, func(t *testing.T) {
			if got := tab.allows(c.dir, c.target); got != c.want {
				t.Errorf("%s may import %s: got %t, want %t", c.dir, c.target, got, c.want)
			}
		})
	}
	for dir, want := range map[string]bool{
		"internal/events": true, "internal/decode/openai": true, "internal/encode": true, "internal/near": true,
		"internal/broker": false, "deploy/nats": false, "test/e2e": false, "internal/none": false,
	} {
		t.Run(dir, func(t *testing.T) {
			if got := tab.core(dir); got != want {
				t.Errorf("%s is in the core: got %t, want %t", dir, got, want)
			}
		})
	}
	if got := tab.unordered(); len(got) > 0 {
		t.Errorf("got %q, want no problem", got)
	}
	up := append(table{{packages: []string{"internal/low"}, may: []string{"events"}}}, tab...)
	if got := up.unordered(); len(got) != 1 {
		t.Errorf("a row that imports one below it: got %q, want one problem", got)
	}
}
