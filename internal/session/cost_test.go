package session

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// TestAllocations: reading and folding a delta of args or content allocates
// nothing, told or not, save for the text that grows. At the pace of the
// benchmarks every second delta is told.
func TestAllocations(t *testing.T) {
	const deltas = 2000
	for _, format := range wireFormats {
		for what, inputs := range map[string][][]byte{
			"args":    callOn(format, 1, 4*deltas),
			"content": cut(wires[format].text, 1, 4*deltas),
		} {
			f := newFolder()
			got := testing.AllocsPerRun(5, func() {
				s := new(State)
				s.Read.Format = format
				for i, in := range inputs {
					f.fold(s, time.UnixMilli(0).Add(time.Duration(i)*every), in)
				}
			}) / deltas
			if got >= 0.05 {
				t.Errorf("%s, %s: %.3f allocations per delta, want less than 0.05", format, what, got)
			}
		}
	}
}

// TestRoom: an open call takes at most 350 B of heap besides its args, and a
// session at most 1 KiB besides its calls.
func TestRoom(t *testing.T) {
	for _, format := range wireFormats {
		if call, session := roomOf(format); call > 350 || session > 1024 {
			t.Errorf("%s: %.0f B for an open call, want at most 350; %.0f B for a session, want at most 1024", format, call, session)
		}
	}
}

// TestLinear: a byte of long args costs what a byte of short args costs, in
// bytes allocated and, with more room for other work on the machine, in time.
func TestLinear(t *testing.T) {
	for _, format := range wireFormats {
		short, shortTime := costOf(format, 64<<10)
		long, longTime := costOf(format, 1<<20)
		if long > 2.5*short {
			t.Errorf("%s: 1 MiB of args allocates %.1f B per byte, 64 KiB %.1f", format, long, short)
		}
		if longTime > 6*shortTime {
			t.Errorf("%s: 1 MiB of args takes %.1f ns per byte, 64 KiB %.1f", format, longTime, shortTime)
		}
	}
}

// costOf gives the bytes allocated and the nanoseconds, at best of three, that
// each byte of args of a size costs in 4-byte fragments.
func costOf(format string, size int) (bytes, nanos float64) {
	inputs := callOn(format, 1, size)
	bytes, nanos = math.Inf(1), math.Inf(1)
	for range 3 {
		f, s := newFolder(), new(State)
		s.Read.Format = format
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		for i, in := range inputs {
			f.fold(s, time.UnixMilli(int64(i)), in)
		}
		nanos = min(nanos, float64(time.Since(start))/float64(size))
		runtime.ReadMemStats(&after)
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(size))
	}
	return bytes, nanos
}
