package natsserver

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// lockDir locks dir. If another process has the lock, the error names it. The system
// releases the lock when the process ends, however it ends. The file stays when the
// lock is released: if it were removed, two processes could lock two files of the
// same name.
func lockDir(dir string) (*flock.Flock, error) {
	name := filepath.Join(dir, "lock")
	lock := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR)) // some network file systems lock only files that can be written
	locked, err := lock.TryLock()
	if err == nil && !locked {
		id, _ := os.ReadFile(name)
		return nil, fmt.Errorf("natsserver: data directory %s is in use by process %s: two servers on one directory would corrupt it; stop that one, or take another directory (--data-dir)",
			dir, cmp.Or(strings.TrimSpace(string(id)), "(unknown)"))
	}
	if err == nil {
		err = writeID(name)
	}
	if err != nil {
		_ = lock.Close() // the error that is returned is the cause
		return nil, fmt.Errorf("natsserver: data directory: %w", err)
	}
	return lock, nil
}

// writeID writes the id of this process to a file that it has locked. Windows lets
// nothing else read or write a locked file.
func writeID(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}
