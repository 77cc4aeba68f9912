package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// skewEnv sets by how many seconds the clock of a program that is built with the
// overlay is off.
const skewEnv = "STREAMER_TEST_SKEW"

// skewSource is what the overlay adds to the standard library.
const skewSource = `package time

import "syscall"

var skew = readSkew()

func readSkew() (s int64) {
	text, _ := syscall.Getenv("` + skewEnv + `")
	sign := int64(1)
	for _, c := range []byte(text) {
		if c == '-' {
			sign = -1
			continue
		}
		s = 10*s + int64(c-'0')
	}
	return sign * s
}
`

// skewOverlay makes a build overlay of the standard library whose wall clock
// can be off. There is no other way to give one program another time: Go does
// not ask libc for it, and time namespaces leave the wall clock alone.
func skewOverlay(t *testing.T) string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(src, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const reads = "	sec, nsec, mono := runtimeNow()\n"
	if !strings.Contains(string(text), "func Now() Time {\n"+reads) {
		t.Skip("this Go reads the clock in another way")
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, content := range map[string]string{
		"time.go": strings.ReplaceAll(string(text), reads, reads+"	sec += skew\n"),
		"skew.go": skewSource,
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(src, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
