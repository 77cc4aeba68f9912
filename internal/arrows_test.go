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

// room is what a package may know of the world.
type room struct {
	core bool   // a pure function of its input
	may  string // what it may import besides the standard library, in short
}

// rooms is the map of the module: arrows only go down.
func rooms() map[string]room {
	return map[string]room{
		"internal/events":    {core: true},
		"internal/chunks":    {core: true},
		"internal/nearest":   {core: true},
		"internal/lifecycle": {core: true, may: "chunks events"},
		"internal/decode":    {core: true, may: "chunks nearest gjson"},
		"internal/patch":     {core: true, may: "chunks events gjson"},
		"internal/session":   {core: true, may: "events chunks lifecycle decode patch"},
		"internal/encode":    {core: true, may: "events"},
		"internal/broker":    {may: "events deploy/nats nats.go nats-server"},
		"internal/repair":    {may: "events patch"},
		"internal/worker":    {may: "broker session lifecycle decode patch events nats.go s2 zerolog"},
		"internal/gateway":   {may: "encode events repair session nearest zerolog"},
		"deploy/nats":        {},
		"examples/sse-ui":    {},
		"examples/repair-go": {may: "nats.go"},
		"test/chaos":         {},
		"test/damage":        {},
		"test/memory":        {},
		"internal/app":       {may: "events lifecycle session broker worker repair patch gateway examples/sse-ui nats.go nuid zerolog"},
		"internal/bench":     {may: "lifecycle broker worker nats.go nuid zerolog"},
		"internal/demo":      {may: "app events lifecycle session broker"},
		"test/e2e":           {},
		"cmd/streamer":       {may: "app bench demo repair worker broker patch lifecycle decode events"},
	}
}

// names shortens the import paths that the table speaks of.
func names() map[string]string {
	return map[string]string{
		"github.com/tidwall/gjson":                 "gjson",
		"github.com/rs/zerolog":                    "zerolog",
		"github.com/nats-io/nats.go":               "nats.go",
		"github.com/nats-io/nats.go/jetstream":     "nats.go",
		"github.com/nats-io/nats.go/micro":         "nats.go",
		"github.com/nats-io/nats-server/v2/server": "nats-server",
		"github.com/nats-io/nuid":                  "nuid",
		"streamer/deploy/nats":                     "deploy/nats",
		"github.com/klauspost/compress/s2":         "s2",
		"streamer/examples/sse-ui":                 "examples/sse-ui",
	}
}

// impure are the parts of the standard library, each with all below it, that
// the core does not import: with none of them it can neither wait nor reach
// anything, nor can a run of it differ from the next.
func impure() []string {
	return []string{
		"context", "crypto/rand", "database", "io/ioutil", "log", "math/rand", "net", "os", "plugin", "runtime", "sync", "syscall", "testing",
	}
}

// clocks are the functions that read the clock, wait, or write to the terminal.
func clocks() map[string][]string {
	return map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
		"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	}
}

// TestArrows holds every package of the module to its room.
func TestArrows(t *testing.T) {
	seen := map[string]int{}
	eachFile(t, func(dir string, fset *token.FileSet, file *ast.File) {
		r, ok := rooms()[dir]
		if !ok && seen[dir] == 0 {
			t.Errorf("%s is not on the map: say in rooms what it may import", dir)
		}
		seen[dir]++
		if ok {
			for _, o := range offences(r, fset, file) {
				t.Error(o)
			}
		}
	})
	for dir := range rooms() {
		if seen[dir] == 0 {
			t.Errorf("%s is on the map and has no files: was it renamed?", dir)
		}
	}
}

// TestArrowsNotice checks that what must not be is seen.
func TestArrowsNotice(t *testing.T) {
	core, shell := room{core: true, may: "events gjson"}, room{may: "events zerolog"}
	for _, c := range []struct {
		in   room
		src  string
		want string // of the one offence; "" for none
	}{
		{core, `import "strings"`, ""},
		{core, `import "time"; const d = time.Second`, ""},
		{core, `import "streamer/internal/events"`, ""},
		{core, `import "github.com/tidwall/gjson"`, ""},
		{core, `import "context"`, `imports "context", and the core`},
		{core, `import "net/http"`, `imports "net/http", and the core`},
		{core, `import _ "sync/atomic"`, `imports "sync/atomic", and the core`},
		{core, `import "network"`, ""},
		{core, `import "time"; var now = time.Now()`, `uses time.Now, and the core`},
		{core, `import "time"; var now = time.Now`, `uses time.Now, and the core`},
		{core, `import clock "time"; func f() { <-clock.After(1) }`, `uses time.After, and the core`},
		{core, `import . "time"`, `imports all names of "time"`},
		{core, `import "fmt"; func f() { fmt.Println() }`, `uses fmt.Println, and the core`},
		{core, `import "streamer/internal/broker"`, `imports "streamer/internal/broker", which its room`},
		{core, `import "github.com/nats-io/nats.go"`, `imports "github.com/nats-io/nats.go", which its room`},
		{core, `import "github.com/rs/zerolog"`, `imports "github.com/rs/zerolog", which its room`},
		{shell, `import "context"; import "time"; var now = time.Now()`, ""},
		{shell, `import "streamer/internal/session"`, `imports "streamer/internal/session", which its room`},
		{shell, `import "example.org/unheard/of"`, `imports "example.org/unheard/of", which its room`},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x; "+c.src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", c.src, err)
		}
		got := offences(c.in, fset, file)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: got %q, want no offence", c.src, got)
		case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
			t.Errorf("%s: got %q, want one that says %q", c.src, got, c.want)
		}
	}
}

// eachFile gives every Go file of the module that is no test.
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

// offences says what in a file its room does not allow, and where.
func offences(r room, fset *token.FileSet, file *ast.File) []string {
	var found []string
	report := func(at token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", fset.Position(at), fmt.Sprintf(format, args...)))
	}
	local := map[string]string{} // the name a file uses → the package watched
	for _, imp := range file.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			report(imp.Pos(), "imports %s: %v", imp.Path.Value, err)
			continue
		}
		if !r.allows(p) {
			report(imp.Pos(), "imports %q, which its room does not allow (%s)", p, r.may)
		}
		if r.core && isImpure(p) {
			report(imp.Pos(), "imports %q, and the core neither waits nor reaches anything", p)
		}
		if _, watched := clocks()[p]; !r.core || !watched {
			continue
		}
		switch {
		case imp.Name == nil:
			local[p] = p
		case imp.Name.Name == ".":
			report(imp.Pos(), "imports all names of %q, so that its uses cannot be seen", p)
		default:
			local[imp.Name.Name] = p
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(clocks()[local[x.Name]], sel.Sel.Name) {
				report(sel.Pos(), "uses %s.%s, and the core is told the time and prints nothing", local[x.Name], sel.Sel.Name)
			}
		}
		return true
	})
	return found
}

// allows tells whether a package of this room may import p.
func (r room) allows(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	if first != "streamer" && !strings.Contains(first, ".") {
		return true // the standard library
	}
	short, ok := names()[p]
	if !ok {
		short = strings.TrimPrefix(p, "streamer/internal/")
	}
	return slices.Contains(strings.Fields(r.may), short)
}

func isImpure(p string) bool {
	return slices.ContainsFunc(impure(), func(root string) bool {
		return p == root || strings.HasPrefix(p, root+"/")
	})
}
