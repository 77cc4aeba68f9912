//go:build linux || darwin

package bench

import (
	"syscall"
	"time"
)

// CPUTime returns the CPU time that this process has used, 0 if it is not known.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
