package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ticksPerSecond is the unit of the CPU times in /proc, which is the same on all
// architectures.
const ticksPerSecond = 100

// use returns the resident memory of a process in bytes and its CPU time.
func use(pid int) (rss uint64, cpu time.Duration, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("memory of the server: %w", err)
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the first is field 3
	number := func(field int) uint64 {
		n, e := strconv.ParseUint(string(fields[field-3]), 10, 64)
		if e != nil {
			err = fmt.Errorf("memory of the server: %w", e)
		}
		return n
	}
	ticks := number(14) + number(15)
	return number(24) * uint64(os.Getpagesize()), time.Duration(ticks) * time.Second / ticksPerSecond, err
}

// maxFiles returns the number of files that this process may open, 0 if it is not
// known. The runtime has raised the limit to the maximum.
func maxFiles() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return limit.Cur
}
