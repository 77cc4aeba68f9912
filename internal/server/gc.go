package server

import (
	"context"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Bounds of the garbage between two collections, in percent of the live heap: up
// to gcMost while the heap is small, at least gcLeast, or gcScarce where the heap is
// more than a third of the memory limit. With little garbage a large heap is marked so
// often that the cost of a session grows with the number of sessions.
const (
	gcMost   = 400
	gcLeast  = 100
	gcScarce = 30
	gcRoom   = 160 << 20   // maximum garbage in bytes, unless gcLeast or gcScarce is more
	gcEvery  = time.Second // between adjustments
)

// BoundMemory sets the runtime's soft memory limit below that of the container,
// unless GOMEMLIMIT in the environment sets one. It returns the limit in force in
// bytes, 0 for none. root is the root of the file system.
func BoundMemory(root fs.FS) uint64 {
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

// Memory outside the runtime: the binary, and pages of files that the kernel does
// not reclaim at once.
const (
	leastOutside = 32 << 20 // bytes
	partOutside  = 10       // a tenth of the container
)

// softLimit returns the limit of the runtime in a container of that many bytes: a
// tenth less, at least 32 MiB less and at most half less.
func softLimit(container uint64) uint64 {
	return container - min(container/2, max(leastOutside, container/partOutside))
}

// PaceGC makes the garbage collector run less often than by default until ctx
// ends. A server and a worker in one process produce much garbage and keep little,
// so the default would use much CPU for collections. limit is the soft memory
// limit, 0 for none; PaceGC does not change it. PaceGC does nothing if GOGC is set
// in the environment.
func PaceGC(ctx context.Context, limit uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(gcEvery)
	defer tick.Stop()
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	var q quiet
	for now := 0; ; {
		metrics.Read(heap)
		if want := gcPercent(heap[0].Value.Uint64(), limit); want > now+now/8 || want < now-now/8 {
			debug.SetGCPercent(want)
			now = want
		}
		if q.collect(heap[1].Value.Uint64()) {
			debug.FreeOSMemory()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// quiet decides when a process that does little returns its garbage to the system:
// otherwise the garbage of a burst, such as of ten thousand clients that connect, stays
// for minutes.
type quiet struct {
	last      uint64 // bytes allocated at the last step
	collected uint64 // bytes allocated at the last collection
	steps     int    // since more than quietBytes were allocated in a step
}

const (
	quietBytes = 2 << 20 // allocated in a step of gcEvery
	quietSteps = 3
	quietLeast = 16 << 20 // minimum garbage that is worth a collection
)

// collect reports whether to collect now, when that many bytes have been allocated
// since the start of the process. It is called every gcEvery.
func (q *quiet) collect(allocated uint64) bool {
	if q.steps++; allocated-q.last > quietBytes {
		q.steps = 0
	}
	q.last = allocated
	if q.steps < quietSteps || allocated-q.collected < quietLeast {
		return false
	}
	q.collected = allocated
	return true
}

// gcPercent returns the garbage to allow, in percent of the live heap, under a limit,
// 0 for none. It is at most an eighth of a limit, unless gcLeast or gcScarce is more.
func gcPercent(live, limit uint64) int {
	room, least := uint64(gcRoom), uint64(gcLeast)
	if limit > 0 {
		room = min(room, limit/8)
		if live > limit/3 {
			least = gcScarce
		}
	}
	return int(min(gcMost, max(least, 100*room/max(1, live))))
}
