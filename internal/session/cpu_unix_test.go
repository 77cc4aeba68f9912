//go:build unix

package session

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time that this process has used. Other load of the machine
// affects it less than the elapsed time.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
