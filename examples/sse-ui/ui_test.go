package sseui

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"streamer/test/testkit"

	"github.com/andybalholm/brotli"
	"github.com/evanw/esbuild/pkg/api"
)

// Maximum sizes of the page compressed with gzip, in bytes: of the files that it loads at once,
// and of all, one of which it loads when it is used.
const (
	firstBudget = 52_000
	budget      = 75_500
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

// TestBuilt checks that the files in dist are those that esbuild makes of the sources; -update
// writes them.
func TestBuilt(t *testing.T) {
	made, look := built(t), lookOf(t)
	if *testkit.Update {
		write(t, made)
		if err := os.WriteFile(lookFile, look, 0o644); err != nil {
			t.Fatal(err)
		}
		return // the next build embeds them
	}
	if have, err := os.ReadFile(lookFile); !bytes.Equal(have, look) {
		t.Errorf("%s is not current: run go generate ./examples/sse-ui: %v", lookFile, err)
	}
	for name, want := range made {
		for _, ending := range []string{".br", ".gz"} {
			if !bytes.Equal(expanded(t, name+ending), want) {
				t.Errorf("dist/%s is not current: run go generate ./examples/sse-ui", name+ending)
			}
		}
	}
	if have, want := len(names(t, Files())), 2*len(made); have != want {
		t.Errorf("dist has %d files, want %d: run go generate ./examples/sse-ui", have, want)
	}
}

// built returns the files of the page as they are served, by name.
func built(t *testing.T) map[string][]byte {
	t.Helper()
	made := map[string][]byte{}
	style := api.Build(api.BuildOptions{EntryPoints: []string{"later.css"}, MinifyWhitespace: true, MinifySyntax: true})
	if len(style.Errors) > 0 {
		t.Fatalf("esbuild: %v", style.Errors)
	}
	for _, name := range []string{"app.js", "later.js", "renderers.js", "theme.js", "page.css"} {
		options := api.BuildOptions{
			EntryPoints: []string{name}, Bundle: true, Format: api.FormatESModule, Target: api.ES2022,
			MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, LogLevel: api.LogLevelWarning,
		}
		switch name {
		case "later.js":
			options.Define = map[string]string{"LATER_CSS": strconv.Quote(strings.TrimSpace(string(style.OutputFiles[0].Contents)))}
		case "app.js":
			options.External = []string{"./later.js", "./renderers.js"}
		}
		result := api.Build(options)
		if len(result.Errors) > 0 {
			t.Fatalf("esbuild: %v", result.Errors)
		}
		made[name] = result.OutputFiles[0].Contents
	}
	space := regexp.MustCompile(`\n\s*`)
	for _, name := range []string{"index.html", "icon.svg"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = space.ReplaceAll(data, []byte("\n"))
	}
	return made
}

// lookFile has the style and the icons of the page, for elements.js.
const lookFile = "dist/look.js"

// lookOf returns the content of lookFile.
func lookOf(t *testing.T) []byte {
	t.Helper()
	var css []byte
	for _, name := range []string{"page.css", "later.css"} {
		result := api.Build(api.BuildOptions{EntryPoints: []string{name}, Bundle: true, MinifyWhitespace: true, MinifySyntax: true})
		if len(result.Errors) > 0 {
			t.Fatalf("esbuild: %v", result.Errors)
		}
		css = append(css, result.OutputFiles[0].Contents...)
	}
	page, err := os.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	icons := map[string][]any{}
	for _, symbol := range regexp.MustCompile(`<symbol id="(i-[a-z]+)" viewBox="0 0 16 16">(.*)</symbol>`).FindAllSubmatch(page, -1) {
		for _, shape := range regexp.MustCompile(`<(\w+) ([^>]*)/>`).FindAllSubmatch(symbol[2], -1) {
			attributes := map[string]string{}
			for _, a := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllSubmatch(shape[2], -1) {
				attributes[string(a[1])] = string(a[2])
			}
			icons[string(symbol[1])] = append(icons[string(symbol[1])], []any{string(shape[1]), attributes})
		}
	}
	drawn, err := json.Marshal(icons)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(string(css))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "export const css = %s;\nexport const icons = %s;\n", text, drawn)
}

func write(t *testing.T, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll("dist"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("dist", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		for ending, compressor := range map[string]func(io.Writer) io.WriteCloser{".br": brotlied, ".gz": zipped} {
			var b bytes.Buffer
			z := compressor(&b)
			_, _ = z.Write(data) // a buffer takes everything
			_ = z.Close()
			if err := os.WriteFile(filepath.Join("dist", name+ending), b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func brotlied(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotli.BestCompression) }

func zipped(w io.Writer) io.WriteCloser {
	z, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is valid
	return z
}

// expanded returns the content of a compressed file.
func expanded(t *testing.T, name string) []byte {
	t.Helper()
	file, err := Files().Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var plain io.Reader = brotli.NewReader(file)
	if strings.HasSuffix(name, ".gz") {
		if plain, err = gzip.NewReader(file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	data, err := io.ReadAll(plain)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return data
}

// TestSize checks the compressed sizes of the files of the page.
func TestSize(t *testing.T) {
	total, atOnce := 0, 0
	for _, name := range names(t, Files()) {
		if !strings.HasSuffix(name, ".gz") {
			continue
		}
		info, err := fs.Stat(Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		n := int(info.Size())
		total += n
		if name != "later.js.gz" && name != "renderers.js.gz" {
			atOnce += n
		}
		t.Logf("%-14s %6d bytes", name, n)
	}
	t.Logf("%d bytes, %d of them at once", total, atOnce)
	if total >= budget || atOnce >= firstBudget {
		t.Errorf("the page has %d bytes, and loads %d at once, want less than %d and %d", total, atOnce, budget, firstBudget)
	}
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
		{"an import from elsewhere", ".css .js", `(?m)@import "[^.]|^(import|export)\b.*from\s+["'][^.]|\bimport\((?:[^"]|"[^.])`},
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
				t.Errorf("%s refers to %s, which does not exist", name, m[1])
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

// files returns the sources of the page by name.
func files(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range names(t, os.DirFS(".")) {
		if !strings.Contains(".html .css .js .svg", filepath.Ext(name)) {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = data
	}
	if len(all["index.html"]) == 0 {
		t.Fatal("there is no index.html")
	}
	return all
}

// names returns the files in a directory.
func names(t *testing.T, dir fs.FS) (files []string) {
	t.Helper()
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, e.Name())
		}
	}
	return files
}
