//go:build !linux && !darwin

package bench

import "time"

// CPUTime returns 0, because the CPU time is not known.
func CPUTime() time.Duration { return 0 }
