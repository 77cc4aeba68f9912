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

// TestLinear: a byte of long args allocates what a byte of short args does.
// BenchmarkFold shows that it takes as long, too.
func TestLinear(t *testing.T) {
	for _, format := range wireFormats {
		short, long := bytesOf(format, 64<<10), bytesOf(format, 512<<10)
		if long > 2.5*short {
			t.Errorf("%s: 512 KiB of args allocate %.1f B per byte, 64 KiB %.1f", format, long, short)
		}
	}
}

// bytesOf gives the bytes allocated, at best of three, that each byte of args of
// a size costs in 4-byte fragments.
func bytesOf(format string, size int) float64 {
	inputs := callOn(format, 1, size)
	least := math.Inf(1)
	for range 3 {
		f, s := newFolder(), new(State)
		s.Read.Format = format
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i, in := range inputs {
			f.fold(s, time.UnixMilli(int64(i)), in)
		}
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.TotalAlloc-before.TotalAlloc)/float64(size))
	}
	return least
}
