package main

import (
	"context"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Bounds of the garbage that waits to be collected: up to gcMost percent of the
// live heap while that is small, and never less than gcLeast.
const (
	gcMost  = 400
	gcLeast = 30
	gcRoom  = 160 << 20 // bytes, above which it is less than gcMost
	gcEvery = time.Second
)

// boundMemory sets the runtime's soft memory limit below that of the container,
// unless GOMEMLIMIT in the environment sets one, and returns the limit in force:
// 0 where there is none.
func boundMemory(root fs.FS) uint64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		if n := cgroupMemory(root); n > 0 {
			debug.SetMemoryLimit(int64(softLimit(n)))
		}
	}
	if n := debug.SetMemoryLimit(-1); n < math.MaxInt64 {
		return uint64(n)
	}
	return 0
}

// Memory that is not the runtime's own: the binary, and the pages of files that
// the kernel does not give up at once.
const (
	leastOutside = 32 << 20
	partOutside  = 10 // one part in so many
)

// softLimit returns the limit of the runtime in a container with so many bytes:
// a tenth less, at least 32 MiB, and at most a half.
func softLimit(container uint64) uint64 {
	return container - min(container/2, max(leastOutside, container/partOutside))
}

// paceGC lets the garbage collector run less often than it does by itself: a
// server and a worker in one process make much garbage and keep little, and
// much of their time went into looking for it. limit is the soft memory limit,
// 0 where there is none; it holds in any case. An environment that sets GOGC
// decides itself.
func paceGC(ctx context.Context, limit uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(gcEvery)
	defer tick.Stop()
	room := roomIn(limit)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for now := 0; ; {
		metrics.Read(live)
		if want := gcPercent(live[0].Value.Uint64(), room); want > now+now/8 || want < now-now/8 {
			debug.SetGCPercent(want)
			now = want
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// gcPercent returns the garbage, as a part of the live heap, that fits into room.
func gcPercent(live, room uint64) int {
	return int(min(gcMost, max(gcLeast, 100*room/max(1, live))))
}

// roomIn returns the room for garbage under a limit: an eighth of it.
func roomIn(limit uint64) uint64 {
	if limit == 0 {
		return gcRoom
	}
	return min(gcRoom, limit/8)
}
