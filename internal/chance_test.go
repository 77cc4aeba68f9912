package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// sleepers are the files whose tests let real time pass, with the reason. Others let that of
// a bubble of testing/synctest pass.
var sleepers = map[string]string{
	"internal/broker/outage_test.go": "in a bubble, which a helper opens",
	"internal/gateway/bench_test.go": "the pace of a measurement",
	"internal/worker/freeze_test.go": "a server is frozen for a time",
	"test/e2e/admit_test.go":         "an outage outlasts deadlines of real processes",
	"test/e2e/crash_test.go":         "processes are killed at random moments",
	"test/e2e/resume_test.go":        "processes are killed in the middle of a stream",
	"test/chaos/attack_test.go":      "faults have moments and lengths",
	"test/chaos/damage_test.go":      "faults have moments and lengths",
	"test/chaos/disk_test.go":        "faults have moments and lengths",
	"test/chaos/fault_test.go":       "faults have moments and lengths",
	"test/chaos/erase_test.go":       "the pace of erasures",
	"test/chaos/power_test.go":       "faults have moments and lengths",
	"test/chaos/publish_test.go":     "the pace of a model",
	"test/chaos/rollback_test.go":    "faults have moments and lengths",
}

// TestNoChance: no test waits for a time in which something should have happened, and none
// relies on a port of the system's range after it closed it.
func TestNoChance(t *testing.T) {
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			return err
		}
		file := parsed(t, name, string(text))
		if strings.Contains(string(text), "time.Sleep(") && !strings.Contains(string(text), `"testing/synctest"`) {
			if found[name] = true; sleepers[name] == "" {
				t.Errorf("%s: a test sleeps outside of a bubble: wait for what it needs", name)
			}
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && takesPort(f) {
				t.Errorf("%s: %s closes a listener on port 0 and goes on with its address, which another process may take: use testkit.FreePort", name, f.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range sleepers {
		if !found[name] {
			t.Errorf("%s does not sleep", name)
		}
	}
}

// TestTakesPort checks that the rule finds what it should.
func TestTakesPort(t *testing.T) {
	for src, want := range map[string]bool{
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); l.Close(); use(l.Addr())`:                     true,
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); defer l.Close(); return l.Addr()`:             true,
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); defer l.Close(); use(l.Addr().String())`:      false,
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); go srv.Serve(l); use(l.Addr())`:               false,
		`l, _ := net.Listen("tcp", "127.0.0.1:0"); clean(func() { l.Close() }); return l.Addr()`: false,
		`l, _ := net.Listen("tcp", addr); l.Close()`:                                             false,
	} {
		f := parsed(t, "x", "package x\nfunc f() any { "+src+" }").Decls[0].(*ast.FuncDecl)
		if got := takesPort(f); got != want {
			t.Errorf("%s: got %v, want %v", src, got, want)
		}
	}
}

// takesPort reports whether a function closes a listener on port 0 before it uses its address.
func takesPort(f *ast.FuncDecl) (takes bool) {
	var listener string
	closed, deferred := false, false
	var stack []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.AssignStmt:
			if call, ok := n.Rhs[0].(*ast.CallExpr); ok && isPort0(call) {
				if id, ok := n.Lhs[0].(*ast.Ident); ok {
					listener, closed, deferred = id.Name, false, false
				}
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || listener == "" || id.Name != listener {
				return true
			}
			within := func(is func(ast.Node) bool) bool { return slices.ContainsFunc(stack, is) }
			switch sel.Sel.Name {
			case "Close":
				if within(func(n ast.Node) bool { _, ok := n.(*ast.DeferStmt); return ok }) {
					deferred = true
				} else if !within(func(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok }) {
					closed = true
				}
			case "Addr":
				returned := within(func(n ast.Node) bool { _, ok := n.(*ast.ReturnStmt); return ok })
				takes = takes || closed || deferred && returned
			}
		}
		return true
	})
	return takes
}

func parsed(t *testing.T, name, src string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func isPort0(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Listen" || len(call.Args) != 2 {
		return false
	}
	lit, ok := call.Args[1].(*ast.BasicLit)
	return ok && strings.HasSuffix(lit.Value, `:0"`)
}
