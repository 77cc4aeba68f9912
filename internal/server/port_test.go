package server

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// owner returns what an error about a port of this process contains.
func owner() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" by process %d (%s)", os.Getpid(), strings.TrimSpace(string(name)))
}

// TestListener reads a process file system.
func TestListener(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
	}
	proc := fstest.MapFS{
		"net/tcp": {Data: []byte(head +
			"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 77 1 0 100 0 0 10 0\n" +
			"   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 78 1 0 100 0 0 10 0\n")},
		"net/tcp6": {Data: []byte(head +
			"   0: 00000000000000000000000000000000:1F92 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 79 1 0 100 0 0 10 0\n")},
		"12/comm":  {Data: []byte("other\n")},
		"12/fd/3":  link("socket:[78]"),
		"345/comm": {Data: []byte("nginx\n")},
		"345/fd/0": link("/dev/null"),
		"345/fd/4": link("socket:[77]"),
	}
	for port, want := range map[string]string{
		"8080": " by process 345 (nginx)",
		"8081": "", // a connection from this port
		"8082": " by a process of another user",
		"8083": "",
		"http": "",
	} {
		if got := listener(proc, port); got != want {
			t.Errorf("port %s: got %q, want %q", port, got, want)
		}
	}
	if got := listener(fstest.MapFS{}, "8080"); got != "" {
		t.Errorf("without a process file system: got %q", got)
	}
}
