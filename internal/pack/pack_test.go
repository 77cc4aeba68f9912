package pack

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

// TestCompact checks that a browser reads the compact form of a file like the file.
func TestCompact(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"a.js", "// a\nexport function one(long) {\n  return `b  // ${ long }`; // c\n}\n", "export function one(e){return`b  // ${e}`}"},
		{"a.mjs", "export const a = /b  [/'\"] c/g;", "export const a=/b  [/'\"] c/g"},
		{"a.js", "import { one as two } from \"./a.js\";\nawait two(import(\"./b.js\"));", "import{one as two}from\"./a.js\";await two(import(\"./b.js\"))"},
		{"a.css", "/* a */\na :hover {\n  b: calc(1px + 2px);\n  content: \"  c \";\n}\n", "a :hover{b:calc(1px + 2px);content:\"  c \"}"},
		{"a.html", "<!doctype html>\n<p hidden>\n  a <b>b</b>\n</p>\n<pre>\n  c\n</pre>", "<!doctype html><p hidden>a <b>b</b><pre>\n  c\n</pre>"},
		{"a.txt", "  a  ", "  a  "},
	} {
		if got, err := Compact(c.name, []byte(c.in)); err != nil || string(got) != c.want {
			t.Errorf("%s: %q: got %q, %v, want %q", c.name, c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"a = `b", "a = (b", "/* a"} {
		if got, err := Compact("a.js", []byte(in)); err == nil {
			t.Errorf("script %q: got %q, want an error", in, got)
		}
	}
}

// TestForms checks the order of the forms, their content, and that a form that saves
// nothing is omitted.
func TestForms(t *testing.T) {
	source := []byte(strings.Repeat("a(b); // one\n", 50))
	for _, c := range []struct{ name, want string }{
		{"a.js", strings.TrimSuffix(strings.Repeat("a(b),", 50), ",")},
		{"a.txt", string(source)},
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
