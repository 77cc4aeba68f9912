package chaos

import (
	"os"
	"syscall"
	"testing"
)

// smallDisk mounts a bounded file system for the directory of a server, where
// this test may.
func smallDisk(t *testing.T, dir string) bool {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256m"); err != nil {
		return false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Log(err)
		}
	})
	return true
}
