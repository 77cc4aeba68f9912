//go:build linux || darwin || freebsd

package natsserver

import "syscall"

// FreeBytes returns the number of bytes that an ordinary user may still write to
// the disk of dir; 0 if that is not known.
func FreeBytes(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)) //nolint:unconvert // the types differ between systems
}
