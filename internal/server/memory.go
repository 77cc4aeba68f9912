package server

import (
	"context"
	"io/fs"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BoundMemory sets the runtime's soft memory limit below that of the container,
// unless GOMEMLIMIT in the environment sets one. The runtime reads only the CPU limit
// of a container. root is the root of the file system.
func BoundMemory(root fs.FS) {
	if n := cgroupMemory(root); n > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit(n))
	}
}

// softLimit returns the limit of the runtime in a container of that many bytes: a
// tenth less, at least 32 MiB less and at most half less. The rest is for the binary, and
// for pages of files that the kernel does not reclaim at once.
func softLimit(container int64) int64 {
	return container - min(container/2, max(32<<20, container/10))
}

// cgroupMemory returns the memory in bytes that Linux allows this process: the
// lowest limit of its control group and of the groups above it, of version 1 or
// 2. It returns 0 if there is no limit.
func cgroupMemory(root fs.FS) (limit int64) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		text = []byte("0::/")
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // hierarchy, controllers, path
		mount := "sys/fs/cgroup"
		switch {
		case len(fields) < 3:
			continue
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			mount += "/memory" // version 1
		case fields[1] != "":
			continue
		}
		// A path outside of the namespace begins with /..: Clean maps it to the root,
		// which is what this process can read.
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			for _, name := range []string{"memory.max", "memory.high", "memory.limit_in_bytes"} {
				if n := numberIn(root, path.Join(mount, group, name)); n > 0 && (limit == 0 || n < limit) {
					limit = n
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// noLimit is the number from which on version 1 means no limit. The number it
// writes depends on the page size.
const noLimit = 1 << 60

func numberIn(root fs.FS, file string) int64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= noLimit {
		return 0
	}
	return n
}

// Garbage between two collections.
const (
	gcRoom  = 160 << 20   // bytes, unless a bound below is more or less
	gcMax   = 400         // maximum in percent of the live heap
	gcMin   = 100         // minimum in percent of the live heap: Go's default
	gcEvery = time.Second // between adjustments
)

// PaceGC makes the garbage collector run less often than by default while the heap is
// small, until ctx ends, and returns memory to the system when the process becomes
// quiet. It does nothing if GOGC is set in the environment.
func PaceGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(gcEvery)
	defer tick.Stop()
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	for q := new(quiet); ; {
		metrics.Read(heap)
		debug.SetGCPercent(gcPercent(heap[0].Value.Uint64()))
		if q.begins(heap[1].Value.Uint64()) {
			debug.FreeOSMemory()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func gcPercent(live uint64) int {
	return int(min(gcMax, max(gcMin, 100*gcRoom/max(1, live))))
}

// A process is quiet if it has allocated at most quietBytes a step for quietSteps.
const (
	quietBytes = 2 << 20
	quietSteps = 3
)

type quiet struct {
	allocated uint64 // bytes since the start of the process
	steps     int    // with few allocations
}

// begins reports whether the process has just become quiet. It is called every gcEvery.
func (q *quiet) begins(allocated uint64) bool {
	few := allocated-q.allocated <= quietBytes
	q.allocated = allocated
	if !few {
		q.steps = 0
		return false
	}
	q.steps++
	return q.steps == quietSteps
}
