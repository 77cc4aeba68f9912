package pack

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
)

// TestCompactScript checks the compact form of scripts, and that it is its own compact
// form.
func TestCompactScript(t *testing.T) {
	for _, c := range []struct{ what, in, want string }{
		{"comments", "a(); // b\n/* c\n d */ e() /* f */\n", "a();e()"},
		{"the end of a statement", "let a = 1\nlet b = a\n++b\n(c)", "let a=1\nlet b=a\n++b\n(c)"},
		{"no end of a statement", "call(\n  a,\n  b\n);\nx =\n  y;\n", "call(a,b);x=y;"},
		{"a block", "if (a) {\n  b();\n}\nc();", "if(a){b();}\nc();"},
		{"words", "export const a = async function b () {}", "export const a=async function b(){}"},
		{"a comment between words", "return/* a */b", "return b"},
		{"signs", "a + +b - -c + -d ++ + e", "a+ +b- -c+-d++ +e"},
		{"a number", "1 .toString() + 1.5 + a .b", "1 .toString()+1.5+a .b"},
		{"strings", `a = "b  // c" + '/* d \' */'`, `a="b  // c"+'/* d \' */'`},
		{"a template", "a = `b  // ${ c + `d  ${ {e : 1}.e }  ` }  \\`  \\${ f` ;", "a=`b  // ${c+`d  ${{e:1}.e}  `}  \\`  \\${ f`;"},
		{"a regular expression", `a = /b  [/'"] \/ c/g .test(d)`, `a=/b  [/'"] \/ c/g .test(d)`},
		{"a flag that is a name", `a = /b/ in c`, `a=/b/ in c`},
		{"a regular expression after a word", `return / b'/.test(c)`, `return/ b'/.test(c)`},
		{"a division", `a = (b) / c / d[0] / 2 / "e / f"`, `a=(b)/c/d[0]/2/"e / f"`},
		{"a division by a regular expression", `a = b / /c d/.length`, `a=b/ /c d/.length`},
		{"a private name", `class A { #b = 1 ; get c () { return this . #b } }`, `class A{#b=1;get c(){return this .#b}}`},
		{"other letters", `é = "ü  ß" in ñ`, `é="ü  ß"in ñ`},
	} {
		got, err := Compact("a.js", []byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q: got %q, %v, want %q", c.what, c.in, got, err, c.want)
		}
		if again, err := Compact("a.js", got); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: %q again: got %q, %v", c.what, got, again, err)
		}
	}
}

// TestCompactStyle checks the compact form of style sheets, and that it is its own
// compact form.
func TestCompactStyle(t *testing.T) {
	for _, c := range []struct{ what, in, want string }{
		{"rules", "a {\n  b: c;\n  d: e f; /* g */\n}\n\nh , i > j { }", "a{b:c;d:e f;}h,i>j{}"},
		{"descendants", "a :hover, a:hover, .b .c {}", "a :hover,a:hover,.b .c{}"},
		{"a sum", "a { b: calc( 1px + 2px - (3px * 2) ) }", "a{b:calc(1px + 2px - (3px * 2))}"},
		{"a condition", "@media (a: b) and (c: d) { }", "@media (a:b) and (c:d){}"},
		{"a comment between words", "a/* b */c {}", "a c{}"},
		{"strings", `a::before { content: "  { \" /* b */ ; " }`, `a::before{content:"  { \" /* b */ ; "}`},
		{"an address", `a { b: url(c  d;e) f }`, `a{b:url(c  d;e) f}`},
	} {
		got, err := Compact("a.css", []byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q: got %q, %v, want %q", c.what, c.in, got, err, c.want)
		}
		if again, err := Compact("a.css", got); err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: %q again: got %q, %v", c.what, got, again, err)
		}
	}
}

// TestCompactIncorrect checks that a file without an end of a literal is an error.
func TestCompactIncorrect(t *testing.T) {
	for _, in := range []string{`a = "b`, "a = 'b\n'", "a = `b", "a = `b ${ c", "a = /b", "a /* b", `a = "b\`} {
		if got, err := Compact("a.js", []byte(in)); err == nil {
			t.Errorf("script %q: got %q, want an error", in, got)
		}
	}
	for _, in := range []string{`a { b: "c`, "a /* b", "a { b: url(c"} {
		if got, err := Compact("a.css", []byte(in)); err == nil {
			t.Errorf("style sheet %q: got %q, want an error", in, got)
		}
	}
}

// FuzzCompact checks that a compact form keeps every byte that is not whitespace in a
// file without comments, and is its own compact form.
func FuzzCompact(f *testing.F) {
	f.Add("a = `b ${ c + `d` } e` / 2\nreturn /f g/.test('h i')")
	f.Add("a > b { c: calc(1px + 2px) ; d: url( e ) \"f g\" }")
	f.Fuzz(func(t *testing.T, in string) {
		for _, name := range []string{"a.js", "a.css"} {
			got, err := Compact(name, []byte(in))
			if err != nil {
				continue
			}
			if !strings.Contains(in, "/*") && !strings.Contains(in, "//") && visible(string(got)) != visible(in) {
				t.Fatalf("%s: %q became %q", name, in, got)
			}
			if again, err := Compact(name, got); err != nil || !bytes.Equal(again, got) {
				t.Fatalf("%s: %q became %q, and that %q, %v", name, in, got, again, err)
			}
		}
	})
}

// visible returns the characters of a text that are not whitespace.
func visible(text string) string {
	return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "").Replace(text)
}

// TestForms checks the order of the forms, their content, and that a form that saves
// nothing is omitted.
func TestForms(t *testing.T) {
	source := []byte(strings.Repeat("let a = 1; // one\n", 50))
	for _, c := range []struct{ name, want string }{
		{"a.js", strings.Repeat("let a=1;", 50)},
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
