package chaos

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// roomy is a size that no run needs. Unused space of the file system takes no
// memory.
const roomy = 8 << 30

// smallDisk mounts a file system for the directory of a server. It reports whether
// the test has the permission to do so.
func smallDisk(t *testing.T, dir string) bool {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, sized(roomy)); err != nil {
		return false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Log(err)
		}
	})
	return true
}

// fillUp removes the free space of such a file system until undo is called.
func fillUp(dir string) (undo func() error, err error) {
	err = syscall.EINVAL
	for try := 0; errors.Is(err, syscall.EINVAL) && try < 1000; try++ { // the content has grown meanwhile
		var fs syscall.Statfs_t
		if err := syscall.Statfs(dir, &fs); err != nil {
			return nil, err
		}
		err = resize(dir, int64(fs.Blocks-fs.Bfree)*fs.Bsize)
	}
	return func() error { return resize(dir, roomy) }, err
}

// resize sets the size of such a file system.
func resize(dir string, bytes int64) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, sized(bytes))
}

// sized returns the mount option for a size.
func sized(bytes int64) string { return fmt.Sprintf("size=%d", bytes) }
