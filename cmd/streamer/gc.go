package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// How much garbage may wait to be collected: up to gcMost percent of what is
// in use while that is not much, and never less than the runtime's own 100.
const (
	gcMost  = 400
	gcRoom  = 256 << 20 // bytes, above which it is less than gcMost
	gcEvery = time.Second
)

// paceGC lets the garbage collector run less often than it does by itself: a
// server and a worker in one process make much garbage and keep little, and
// much of their time went into looking for it. An environment that sets GOGC
// decides itself, and GOMEMLIMIT holds in any case.
func paceGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	tick := time.NewTicker(gcEvery)
	defer tick.Stop()
	room := gcRoomIn(memoryLimit)
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

// gcPercent is the garbage, as a part of what is in use, that fits into room.
func gcPercent(live, room uint64) int {
	return int(min(gcMost, max(100, 100*room/max(1, live))))
}

// memoryLimit is where Linux says how much a container may use.
const memoryLimit = "/sys/fs/cgroup/memory.max"

// gcRoomIn is the room there is where a file tells a limit: an eighth of it.
func gcRoomIn(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return gcRoom
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil { // "max"
		return gcRoom
	}
	return min(gcRoom, limit/8)
}
