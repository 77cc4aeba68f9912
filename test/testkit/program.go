package testkit

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofrs/flock"
)

// Program returns the path of the program streamer, built from this module. The tests of
// all packages share the file: go build links it only if its source has changed. It has no
// debug information, which takes half of the time to link.
func Program(t testing.TB) string {
	t.Helper()
	return must(t, program)
}

// RaceProgram returns the path of the same program, with the race detector if the test
// has it.
func RaceProgram(t testing.TB) string {
	t.Helper()
	if !Race {
		return must(t, program)
	}
	return must(t, raceProgram)
}

func must(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The programs are built once in a process.
var (
	program     = sync.OnceValues(func() (string, error) { return build("streamer", "-race=false") })
	raceProgram = sync.OnceValues(func() (string, error) { return build("streamer-race", "-race=true") })
)

// build builds the program in a directory of this module.
func build(name, flag string) (string, error) {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "streamer-test", fmt.Sprintf("%x", sha256.Sum256(module))[:12])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Close()
	text, err := exec.Command("go", "build", flag, "-ldflags=-s -w", "-o", path, "streamer/cmd/streamer").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
}
