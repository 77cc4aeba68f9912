package sseui

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Maximum sizes of the page compressed with gzip, in bytes: of the files that it loads at once,
// and of all, some of which it loads when they are used.
const (
	firstBudget = 72_000
	budget      = 104_000
)

// TestModules runs the tests of the page's modules in node.
func TestModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the tests in test/*.test.mjs were not run")
	}
	files, err := filepath.Glob("test/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests found in test: %v", err)
	}
	out, err := exec.Command(node, append([]string{"--test"}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("node --test %s: %v\n%s", strings.Join(files, " "), err, out)
	}
}

// TestSize checks the compressed sizes of the files of the page.
func TestSize(t *testing.T) {
	have := files(t)
	first := loadedAtOnce(have)
	total, atOnce := 0, 0
	for name, data := range have {
		n := zippedSize(t, data)
		total += n
		when := "on demand"
		if first[name] {
			atOnce += n
			when = "at once"
		}
		t.Logf("%-14s %6d bytes, %6d compressed, %s", name, len(data), n, when)
	}
	t.Logf("%d bytes compressed, %d of them at once", total, atOnce)
	if total >= budget || atOnce >= firstBudget {
		t.Errorf("the page has %d bytes compressed, and loads %d at once, want less than %d and %d", total, atOnce, budget, firstBudget)
	}
}

// TestPreload checks that index.html names every module that the page loads at once: a
// browser would otherwise find some of them only in the imports of others, one round trip
// after another.
func TestPreload(t *testing.T) {
	have := files(t)
	named := map[string]bool{"app.js": true, "theme.js": true} // scripts of the page
	for _, m := range regexp.MustCompile(`<link rel="modulepreload" href="([a-z]+\.js)">`).FindAllSubmatch(have["index.html"], -1) {
		named[string(m[1])] = true
	}
	// Without the links, only the imports lead to the modules.
	page := map[string][]byte{"index.html": []byte(`<script src="app.js">`)}
	for name, data := range have {
		if name != "index.html" {
			page[name] = data
		}
	}
	used := loadedAtOnce(page)
	for name := range have {
		if path.Ext(name) == ".js" && name != "theme.js" && named[name] != used[name] {
			t.Errorf("%s: index.html names it: %t, the page loads it at once: %t", name, named[name], used[name])
		}
	}
}

// loadedAtOnce returns the files that index.html refers to, and the modules that these
// import.
func loadedAtOnce(have map[string][]byte) map[string]bool {
	reference := map[string]*regexp.Regexp{
		".html": regexp.MustCompile(`(?:src|href)="([a-z]+\.[a-z]+)"`),
		".js":   regexp.MustCompile(`(?m)^(?:import|export)\b.*from "\./([a-z]+\.js)"`),
	}
	loaded := map[string]bool{}
	var load func(name string)
	load = func(name string) {
		if loaded[name] {
			return
		}
		loaded[name] = true
		if pattern := reference[filepath.Ext(name)]; pattern != nil {
			for _, m := range pattern.FindAllSubmatch(have[name], -1) {
				load(string(m[1]))
			}
		}
	}
	load("index.html")
	return loaded
}

// zippedSize returns the size of a file as the gateway serves it: compressed with gzip.
func zippedSize(t *testing.T, data []byte) int {
	t.Helper()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return zipped.Len()
}

// TestNothingInline checks that the page follows the policy default-src 'self'.
func TestNothingInline(t *testing.T) {
	forbidden := []struct{ what, in, pattern string }{
		{"an inline script", ".html .svg", `<script(>|\s[^>]*>)\s*[^<\s]`},
		{"a script without a source", ".html .svg", `<script>`},
		{"an inline style", ".html .svg", `<style|\sstyle\s*=`},
		{"an inline handler", ".html .svg", `\son[a-z]+\s*=`},
		{"a style attribute", ".js", `setAttribute\(\s*["']style|cssText`},
		{"markup from a string", ".js", `innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc`},
		{"code from a string", ".js", `\beval\(|new Function`},
		{"a data URL", ".html .css .js .svg", `["'(]data:[a-z]+/`},
		{"a foreign address", ".html .css .js .svg", `(https?:)?//[a-z0-9-]+\.[a-z]`},
		{"an import from elsewhere", ".css .js", `(?m)@import|^(import|export)\b.*from\s+["'][^.]|\bimport\((?:[^"]|"[^.])`},
	}
	// Names and references; nothing is loaded from them.
	harmless := strings.NewReplacer(
		"http://www.w3.org/2000/svg", "",
		"https://html.spec.whatwg.org/multipage/server-sent-events.html", "",
	)
	for name, data := range files(t) {
		text := harmless.Replace(string(data))
		for _, f := range forbidden {
			if !strings.Contains(f.in, filepath.Ext(name)) {
				continue
			}
			if found := regexp.MustCompile(f.pattern).FindString(text); found != "" {
				t.Errorf("%s holds %s: %q", name, f.what, found)
			}
		}
	}
}

// TestLinks checks that every file, element and icon that the page and its
// modules refer to exists.
func TestLinks(t *testing.T) {
	have := files(t)
	link := regexp.MustCompile(`(?:from |src=|href=|import |import\()"(?:\./)?([a-z]+\.[a-z]+)"`)
	ids := regexp.MustCompile(`\$\("([a-z-]+)"\)`)
	symbols := regexp.MustCompile(`(?:, |icon\()"(pen|run|hand|check|cross|deny|stop|clock|info|down|theme|pause|play|plus|minus|fit|path|tree|save|open)"`)
	page := string(have["index.html"])
	checked := 0
	for name, data := range have {
		for _, m := range link.FindAllStringSubmatch(string(data), -1) {
			checked++
			if _, ok := have[m[1]]; !ok {
				t.Errorf("%s refers to %s, which is not embedded", name, m[1])
			}
		}
		for _, m := range ids.FindAllStringSubmatch(string(data), -1) {
			checked++
			if !strings.Contains(page, `id="`+m[1]+`"`) {
				t.Errorf("%s uses the element %s, which index.html does not have", name, m[1])
			}
		}
		for _, m := range symbols.FindAllStringSubmatch(string(data), -1) {
			checked++
			if !strings.Contains(page, `id="i-`+m[1]+`"`) {
				t.Errorf("%s uses the icon %s, which index.html does not have", name, m[1])
			}
		}
	}
	if checked < 50 {
		t.Errorf("found %d links, ids and icons, want at least 50: the patterns no longer match", checked)
	}
}

// files returns the embedded files by name.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(Files, name)
		all[name] = data
		return err
	})
	if err != nil {
		t.Fatalf("reading the embedded files: %v", err)
	}
	if len(all["index.html"]) == 0 {
		t.Fatal("index.html is not embedded")
	}
	return all
}
