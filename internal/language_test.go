package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// vagueVerbs matches the beginning of a doc comment whose verb does not state
// what a function does. The standard verbs are returns, reports whether,
// appends, emits, writes, closes and the like.
var vagueVerbs = regexp.MustCompile(`^\S+ (gives|tells|says|speaks|hears|knows|thinks|wants|minds|greets|settles)\b`)

// persons matches words for persons. A program is a process, worker, owner,
// member or client, and its pronoun is "it".
var persons = regexp.MustCompile(`(?i)\b(he|she|his|him|himself|her|hers|herself|who|whom|whoever|somebody|someone|nobody|no one|anybody|anyone|everybody|everyone)\b`)

// replaced matches words that the glossary replaces, in text.
var replaced = regexp.MustCompile(`(?i)\b(moulds?|desks?|mend(s|ed|ing)?|sweeps?|sweeping|swept|riders?|hush(es|ed)?|alarms?|greet(s|ed)?|befalls?|asleep|loudly|in words|low-water|former li(fe|ves)|earlier worlds?|step(s|ped)? over|saved states?|(is|are|was|were|be|been) told|(the|its|a|each|every|session.s) chain|(a|the|its|this|each|every|no|of) marks?)\b`)

// replacedNames lists the words that no part of an identifier is.
func replacedNames() []string {
	return []string{"mould", "desk", "mend", "sweep", "rider", "hush", "alarm", "greet", "befall", "asleep", "somebody", "nobody", "whoever"}
}

// TestLanguage checks the comments, identifiers and error texts of every Go
// file of the module, and the Markdown files, for words that readers would
// have to decode.
func TestLanguage(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if base == "language_test.go" {
			return nil // this file has the words that are not used elsewhere
		}
		var problems []string
		switch path.Ext(name) {
		case ".go":
			problems, err = goLanguage("../" + name)
		case ".md":
			problems, err = markdownLanguage("../" + name)
		default:
			return nil
		}
		files++
		for _, p := range problems {
			t.Error(p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("checked no file")
	}
}

// TestLanguageReport checks that each kind of problem is reported, and that
// good text is not.
func TestLanguageReport(t *testing.T) {
	for _, c := range []struct {
		src  string
		want string // part of the only problem; "" for none
	}{
		{"// f returns the head of the session's event log.\nfunc f() {}", ""},
		{"// f gives the head.\nfunc f() {}", `"f gives"`},
		{"// f tells whether it is open.\nfunc f() {}", `"f tells"`},
		{"// m says why.\nfunc (t *T) m() {}", `"m says"`},
		{"// T knows its head.\ntype T struct{}", `"T knows"`},
		{"// v gives the limit.\nvar v = 1", `"v gives"`},
		{"func f() {\n\t// Whoever reads this waits.\n}", `"Whoever"`},
		{"func f() {\n\t// It says `who` and \"nobody\".\n}", ""},
		{"// The mould of a delta.\nvar _ = 1", `"mould"`},
		{"// It writes the mark.\nvar _ = 1", `"the mark"`},
		{"// The owner is told.\nvar _ = 1", `"is told"`},
		{"// It marks the call as closed.\nvar _ = 1", ""},
		{"func sweepAll() {}", `"sweepAll"`},
		{"type HTTPDesk struct{}", `"HTTPDesk"`},
		{"func f() { deskTop := 1; _ = deskTop }", `"deskTop"`},
		{"func recommend() {}", ""},
		{"var e = \"nobody reads it\"", `"nobody"`},
		{"var e = \"a session was mended\"", `"mended"`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.src), func(t *testing.T) {
			got, err := goSource("x.go", "package x\n\n"+c.src)
			switch {
			case err != nil:
				t.Errorf("%s: %v", c.src, err)
			case c.want == "" && len(got) > 0:
				t.Errorf("%s: got %q, want no problem", c.src, got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("%s: got %q, want one with %s", c.src, got, c.want)
			}
		})
	}
}

// goLanguage returns the problems of a Go file.
func goLanguage(name string) ([]string, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return goSource(name, string(src))
}

// goSource returns the problems of the text of a Go file: in its doc comments,
// its comments, its identifiers and, where it is not a test, its strings.
func goSource(name, src string) ([]string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	report := func(at token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", fset.Position(at), fmt.Sprintf(format, args...)))
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			for _, word := range badWords(c.Text) {
				report(c.Pos(), "comment with %q", word)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if doc := docComment(n); doc != nil {
			if m := vagueVerbs.FindString(doc.Text()); m != "" {
				report(doc.Pos(), "doc comment begins with %q: want a verb like returns or reports whether", m)
			}
		}
		for _, id := range declared(n) {
			if slices.ContainsFunc(camelWords(id.Name), func(w string) bool { return slices.Contains(replacedNames(), strings.TrimSuffix(w, "s")) }) {
				report(id.Pos(), "identifier %q", id.Name)
			}
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !strings.HasSuffix(name, "_test.go") {
			for _, word := range badWords(strings.Trim(lit.Value, "`\"")) {
				report(lit.Pos(), "text with %q", word)
			}
		}
		return true
	})
	return found, nil
}

// markdownLanguage returns the problems of a Markdown file. It leaves out
// blocks of code.
func markdownLanguage(name string) ([]string, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var found []string
	code := false
	for i, line := range strings.Split(string(src), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			continue
		}
		for _, word := range badWords(line) {
			found = append(found, fmt.Sprintf("%s:%d: text with %q", name, i+1, word))
		}
	}
	return found, nil
}

// quoted matches quoted text, links and the name of a recorded session, which are
// names or examples.
var quoted = regexp.MustCompile("support-desk|`[^`]*`|\"[^\"]*\"|“[^”]*”|https?://\\S+|\\]\\([^)]*\\)")

// badWords returns the words of a text that stand for persons or that the
// glossary replaces. It leaves out quoted text.
func badWords(text string) []string {
	text = quoted.ReplaceAllString(text, "")
	return append(persons.FindAllString(text, -1), replaced.FindAllString(text, -1)...)
}

// docComment returns the doc comment of a declaration, or nil.
func docComment(n ast.Node) *ast.CommentGroup {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Doc
	case *ast.GenDecl:
		return n.Doc
	case *ast.TypeSpec:
		return n.Doc
	case *ast.ValueSpec:
		return n.Doc
	case *ast.Field:
		return n.Doc
	}
	return nil
}

// declared returns the identifiers that a node declares.
func declared(n ast.Node) []*ast.Ident {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		var names []*ast.Ident
		for _, x := range n.Lhs {
			if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
				names = append(names, id)
			}
		}
		return names
	}
	return nil
}

// camelWords returns the words of an identifier in camel case, in lower case.
func camelWords(name string) []string {
	var words []string
	from := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || runes[i] == '_' ||
			unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			words = append(words, strings.ToLower(strings.Trim(string(runes[from:i]), "_")))
			from = i
		}
	}
	return words
}
