package chaos

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// roomy is more than a server writes in any run; what is not written takes no
// memory.
const roomy = 8 << 30

// smallDisk mounts a file system of its own for the directory of a server,
// where this test may.
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

// fillUp takes all room that is left from such a file system, until the
// function that it gives is called.
func fillUp(dir string) (undo func() error, err error) {
	err = syscall.EINVAL
	for try := 0; errors.Is(err, syscall.EINVAL) && try < 1000; try++ { // what is in it has grown meanwhile
		var fs syscall.Statfs_t
		if err := syscall.Statfs(dir, &fs); err != nil {
			return nil, err
		}
		err = resize(dir, int64(fs.Blocks-fs.Bfree)*fs.Bsize)
	}
	return func() error { return resize(dir, roomy) }, err
}

// resize makes such a file system as large as so many bytes.
func resize(dir string, bytes int64) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, sized(bytes))
}

func sized(bytes int64) string { return fmt.Sprintf("size=%d", bytes) }
