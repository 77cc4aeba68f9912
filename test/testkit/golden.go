package testkit

import (
	"flag"
	"os"
	"testing"
)

// Update reports whether the flag -update asks a test to rewrite its golden files.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a text with a golden file.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
