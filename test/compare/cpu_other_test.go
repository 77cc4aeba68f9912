//go:build !unix

package compare

import "time"

// cpuTime returns 0, because the CPU time is not known.
func cpuTime() time.Duration { return 0 }
