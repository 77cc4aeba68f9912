package pack

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

// TestCompact checks that comments and spaces go, and names and literals stay.
func TestCompact(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a.js", "// a\nexport function open(first) {\n  /* b */\n  return `c  ${first}`;\n}\n", "export function open(first){return`c  ${first}`}"},
		{"a.js", "x = /b  [/'\"] c/g .test(d)", "x=/b  [/'\"] c/g.test(d)"},
		{"a.css", "/* a */\nb {\n  width: calc(1px + 2px);\n}\n", "b{width:calc(1px + 2px)}"},
		{"a.html", "<!-- a -->\n", "<!-- a -->\n"},
	} {
		if got, err := Compact(c.name, []byte(c.in)); err != nil || string(got) != c.want {
			t.Errorf("%s: %q: got %q, %v, want %q", c.name, c.in, got, err, c.want)
		}
	}
	if got, err := Compact("a.js", []byte("a = `b")); err == nil {
		t.Errorf("a template without an end: got %q, want an error", got)
	}
}

// TestForms checks the order of the forms, their content, and that a form that saves
// nothing is omitted.
func TestForms(t *testing.T) {
	source := []byte(strings.Repeat("f(1); // one\n", 50))
	for _, c := range []struct{ name, want string }{
		{"a.js", strings.TrimSuffix(strings.Repeat("f(1),", 50), ",")},
		{"a.html", string(source)},
	} {
		forms, err := Forms(c.name, source)
		if err != nil || len(forms) != 2 || forms[0].Encoding != "br" || forms[1].Encoding != "gzip" {
			t.Fatalf("%s: got %d forms, %v, want br and gzip", c.name, len(forms), err)
		}
		for _, f := range forms {
			if got := unpacked(t, f); got != c.want {
				t.Errorf("%s: %s: got %q, want %q", c.name, f.Encoding, got, c.want)
			}
		}
	}
	if forms, err := Forms("a.js", []byte("a")); err != nil || len(forms) != 0 {
		t.Errorf("a file of one byte: got %d forms, %v, want none", len(forms), err)
	}
	wrong := []byte(strings.Repeat("`", 101))
	if forms, err := Forms("a.js", wrong); err != nil || unpacked(t, forms[0]) != string(wrong) {
		t.Errorf("an incorrect file: got %v, %v, want its content", forms, err)
	}
}

func unpacked(t *testing.T, f Form) string {
	t.Helper()
	var r io.Reader = brotli.NewReader(bytes.NewReader(f.Data))
	if f.Encoding == "gzip" {
		var err error
		if r, err = gzip.NewReader(bytes.NewReader(f.Data)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
