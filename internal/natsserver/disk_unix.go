//go:build linux || darwin || freebsd

package natsserver

import "syscall"

// FreeBytes returns the number of bytes that an ordinary user may still write to
// the disk of dir.
func FreeBytes(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), nil //nolint:unconvert // the types differ between systems
}
