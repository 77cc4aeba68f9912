//go:build !linux

package bench

import (
	"errors"
	"time"
)

// use returns an error, because the memory of another process is only read on Linux.
func use(int) (rss uint64, cpu time.Duration, err error) {
	return 0, 0, errors.New("the measurement of streams needs Linux")
}

// maxFiles returns 0, because the limit is not known.
func maxFiles() uint64 { return 0 }
