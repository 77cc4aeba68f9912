package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impure returns the packages of the standard library that the core does not
// import, each with all packages below it. Without them the core cannot block,
// do I/O or depend on chance.
func impure() []string {
	return []string{
		"context", "crypto/rand", "database", "io/ioutil", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "testing",
	}
}

// clocks returns the functions that read the clock, wait, or use the terminal.
func clocks() map[string][]string {
	return map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	}
}

// TestArrows checks the imports of every package against the rows of
// internal/imports.txt.
func TestArrows(t *testing.T) {
	tab, seen := readTable(t), map[int]bool{}
	reported := map[string]bool{}
	eachFile(t, func(dir string, fset *token.FileSet, file *ast.File) {
		i := tab.find(dir)
		seen[i] = true
		if i < 0 {
			if !reported[dir] {
				t.Errorf("%s: internal/imports.txt does not list this package: add a row", dir)
			}
			reported[dir] = true
			return
		}
		for _, o := range offences(tab, dir, fset, file) {
			t.Error(o)
		}
	})
	for i, r := range tab {
		if !seen[i] && !r.planned && modules()[r.packages[0]] == "" {
			t.Errorf("internal/imports.txt lists %s, which has no Go files: was it renamed?", r.packages[0])
		}
	}
}

// TestArrowsReport checks that offences are reported.
func TestArrowsReport(t *testing.T) {
	const core, shell = "internal/encode", "internal/worker"
	tab := table{
		{packages: []string{"internal/events"}},
		{packages: []string{core}, may: []string{"events", "gjson"}},
		{packages: []string{shell}, may: []string{"events", "zerolog"}},
	}
	for _, c := range []struct {
		in   string
		src  string
		want string // part of the only offence; "" for none
	}{
		{core, `import "strings"`, ""},
		{core, `import "time"; const d = time.Second`, ""},
		{core, `import "streamer/internal/events"`, ""},
		{core, `import "github.com/tidwall/gjson"`, ""},
		{core, `import "context"`, `imports "context": the core`},
		{core, `import "net/http"`, `imports "net/http": the core`},
		{core, `import _ "sync/atomic"`, `imports "sync/atomic": the core`},
		{core, `import "network"`, ""},
		{core, `import "time"; var now = time.Now()`, `uses time.Now: the core`},
		{core, `import "time"; var now = time.Now`, `uses time.Now: the core`},
		{core, `import clock "time"; func f() { <-clock.After(1) }`, `uses time.After: the core`},
		{core, `import . "time"`, `imports all names of "time"`},
		{core, `import "fmt"; func f() { fmt.Println() }`, `uses fmt.Println: the core`},
		{core, `import "streamer/internal/broker"`, `imports "streamer/internal/broker", which internal/imports.txt does not allow`},
		{core, `import "github.com/nats-io/nats.go"`, `imports "github.com/nats-io/nats.go", which internal/imports.txt does not allow`},
		{core, `import "github.com/rs/zerolog"`, `imports "github.com/rs/zerolog", which internal/imports.txt does not allow`},
		{shell, `import "context"; import "time"; var now = time.Now()`, ""},
		{shell, `import "streamer/internal/session"`, `imports "streamer/internal/session", which internal/imports.txt does not allow`},
		{shell, `import "example.org/unknown"`, `imports "example.org/unknown", which internal/imports.txt does not allow`},
	} {
		t.Run(c.src, func(t *testing.T) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, "x.go", "package x; "+c.src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatalf("%s: %v", c.src, err)
			}
			got := offences(tab, c.in, fset, file)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("%s: got %q, want no offence", c.src, got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("%s: got %q, want one with %q", c.src, got, c.want)
			}
		})
	}
}

// eachFile calls fn for every Go file of the module that is not a test.
func eachFile(t *testing.T, fn func(dir string, fset *token.FileSet, file *ast.File)) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		fn(path.Dir(name), fset, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// offences returns a line for each import and each use in file that the table
// does not allow to the package in dir.
func offences(tab table, dir string, fset *token.FileSet, file *ast.File) []string {
	var found []string
	report := func(at token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", fset.Position(at), fmt.Sprintf(format, args...)))
	}
	core := tab.core(dir)
	local := map[string]string{} // identifier in the file → import path of clocks
	for _, imp := range file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			report(imp.Pos(), "imports %s: %v", imp.Path.Value, err)
			continue
		}
		if target := short(p); target != "" && !tab.allows(dir, target) {
			report(imp.Pos(), "imports %q, which internal/imports.txt does not allow to %s", p, dir)
		}
		if core && isImpure(p) {
			report(imp.Pos(), "imports %q: the core does no I/O and does not wait", p)
		}
		if _, watched := clocks()[p]; !core || !watched {
			continue
		}
		switch {
		case imp.Name == nil:
			local[p] = p
		case imp.Name.Name == ".":
			report(imp.Pos(), "imports all names of %q, which hides their uses", p)
		default:
			local[imp.Name.Name] = p
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(clocks()[local[x.Name]], sel.Sel.Name) {
				report(sel.Pos(), "uses %s.%s: the core reads no clock and prints nothing", local[x.Name], sel.Sel.Name)
			}
		}
		return true
	})
	return found
}

// short returns the name that the table uses for an import path: a directory
// of the module, the short name of an external module or, if it is unknown, the
// path itself. It returns "" for the standard library.
func short(p string) string {
	if dir, ok := strings.CutPrefix(p, "streamer/"); ok {
		return dir
	}
	if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
		return ""
	}
	for name, module := range modules() {
		if p == module || strings.HasPrefix(p, module+"/") {
			return name
		}
	}
	return p
}

// isImpure reports whether p is one of the packages of impure or below one.
func isImpure(p string) bool {
	return slices.ContainsFunc(impure(), func(root string) bool {
		return p == root || strings.HasPrefix(p, root+"/")
	})
}
