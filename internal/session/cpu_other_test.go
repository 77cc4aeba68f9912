//go:build !unix

package session

import "time"

var started = time.Now()

// cpuTime returns the elapsed time.
func cpuTime() time.Duration { return time.Since(started) }
