package testkit

import (
	"os"
	"path/filepath"
)

// Shared returns a path below the directory of recorded streams, which may be absent:
// $STREAMER_SHARED, or the directory shared beside this module.
func Shared(elem ...string) string {
	root := os.Getenv("STREAMER_SHARED")
	if root == "" {
		root = filepath.Join(module(), "..", "shared")
	}
	return filepath.Join(root, filepath.Join(elem...))
}

// module returns the directory of go.mod, relative to that of the test.
func module() string {
	dir := "."
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if abs, err := filepath.Abs(dir); err != nil || abs == filepath.Dir(abs) {
			return "." // there is none
		}
		dir = filepath.Join(dir, "..")
	}
}
