package python_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"streamer/test/testkit"
)

// mypyConfig has the packages that the client and the snippets use and that need not be
// installed.
const mypyConfig = `[mypy]
strict = True
explicit_package_bases = True
[mypy-agents.*,langchain.*,langchain_core.*,langgraph.*,nats.*]
ignore_missing_imports = True
[mypy-streamer_client.langchain]
disallow_subclassing_any = False
`

// TestTypesPython runs mypy --strict on the package, on a module that uses its types, and on
// the snippets of the documents.
func TestTypesPython(t *testing.T) {
	testkit.Campaign(t)
	mypy, err := exec.LookPath("mypy")
	switch {
	case err == nil:
	case os.Getenv("STREAMER_REQUIRE_BROWSER") == "1":
		t.Fatal("no mypy found: install mypy")
	default:
		t.Skip("no mypy found: install mypy")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "mypy.ini")
	write(t, config, mypyConfig)
	files := []string{"streamer_client", "tests/typed.py"}
	for _, pattern := range []string{"../../README.md", "../../docs/*.md", "../*/README.md", "../../examples/*/README.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			files = append(files, snippets(t, d, dir)...)
		}
	}
	if len(files) < 6 {
		t.Errorf("only %v are checked", files)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*testkit.Within)
	defer cancel()
	cmd := exec.CommandContext(ctx, mypy, append([]string{"--config-file", config, "--cache-dir", filepath.Join(dir, "cache")}, files...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// snippet matches a snippet, and the types of the names that it does not declare in a comment
// before it.
var snippet = regexp.MustCompile("(?ms)(?:^<!-- given: ([^\n]*) -->\n)?^```python\n(.*?)^```$")

// snippets writes the snippets of a document as modules, and returns their names. One that
// awaits is the body of a function.
func snippets(t *testing.T, document, dir string) (files []string) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range snippet.FindAllStringSubmatch(string(text), -1) {
		head := "from typing import Any\nfrom streamer_client import Session\n" + strings.ReplaceAll(m[1], "; ", "\n") + "\n"
		code := m[2]
		if regexp.MustCompile(`(?m)^await `).MatchString(code) {
			code = "async def snippet() -> None:\n    " + strings.ReplaceAll(code, "\n", "\n    ") + "\n"
		}
		name := regexp.MustCompile(`\W+`).ReplaceAllString(document, "_")
		file := filepath.Join(dir, fmt.Sprintf("snippet%s_%d.py", name, i))
		write(t, file, head+code)
		files = append(files, file)
	}
	return files
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
