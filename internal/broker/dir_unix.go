//go:build linux || darwin || freebsd

package broker

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dirLock is the lock on a data directory. The kernel releases it when the process
// ends, however it ends.
type dirLock struct{ file *os.File }

// lockDir locks dir. If another process has the lock, the error names it.
func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("broker: data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid, _ := io.ReadAll(io.LimitReader(f, 32))
		f.Close()
		return nil, fmt.Errorf("broker: data directory %s is in use by process %s: two servers on one directory would corrupt it; stop that one, or take another directory (--data-dir)",
			dir, strings.TrimSpace(string(pid)))
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("broker: data directory: %w", err)
	}
	return &dirLock{f}, nil
}

// release releases the lock. The file stays: if it were removed, two processes
// could lock two files of the same name.
func (l *dirLock) release() error { return l.file.Close() }

// freeBytes returns the number of bytes that an ordinary user may still write to
// the disk of dir.
func freeBytes(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)) //nolint:unconvert // the types differ between systems
}
