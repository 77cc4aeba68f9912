package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// patched is a package of the standard library as the programs of a test are built with it.
type patched struct {
	pkg     string
	file    string // of the package, whose text is edited
	edits   [][2]string
	added   string // name of a file that is added
	content string
}

// overlay writes a build overlay with packages of the standard library, and returns its file.
// It skips the test if this version of Go has another text to edit.
func overlay(t *testing.T, list ...patched) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for _, p := range list {
		src := filepath.Join(strings.TrimSpace(string(root)), "src", p.pkg)
		text, err := os.ReadFile(filepath.Join(src, p.file))
		if err != nil {
			t.Fatal(err)
		}
		edited := string(text)
		for _, e := range p.edits {
			if !strings.Contains(edited, e[0]) {
				t.Skipf("this version of Go has another %s/%s", p.pkg, p.file)
			}
			edited = strings.ReplaceAll(edited, e[0], e[1])
		}
		for name, content := range map[string]string{p.file: edited, p.added: p.content} {
			if name == "" {
				continue
			}
			file := filepath.Join(dir, p.pkg+"-"+name)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			replace[filepath.Join(src, name)] = file
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
