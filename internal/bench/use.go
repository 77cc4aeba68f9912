package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

const ticksPerSecond = 100 // unit of the CPU times in /proc, on all architectures

// use returns the resident memory of a process in bytes and its CPU time. It returns
// an error on systems other than Linux.
func use(pid int) (rss float64, cpu time.Duration, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("memory of the server: %w", err)
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // the first is field 3
	number := func(field int) int {
		n, _ := strconv.Atoi(string(fields[field-3])) // the kernel writes numbers
		return n
	}
	ticks := number(14) + number(15)
	return float64(number(24) * os.Getpagesize()), time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// RSS returns the resident memory of this process, 0 if it is not known.
func RSS() float64 {
	n, _, _ := use(os.Getpid())
	return n
}
