package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// skewEnv names the environment variable with the error, in seconds, of the clock
// of a program that is built with the overlay.
const skewEnv = "STREAMER_TEST_SKEW"

// skewSource is the file that the overlay adds to package time.
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

// skewOverlay writes a build overlay of the standard library in which the wall
// clock can be wrong, and returns its file. Go does not read the clock through libc,
// and time namespaces do not change the wall clock, so a program cannot be given
// another time without an overlay.
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
		t.Skip("this version of Go reads the clock in another way")
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
