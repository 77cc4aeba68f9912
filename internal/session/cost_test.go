package session

import (
	"math"
	"runtime"
	"testing"
	"time"

	"streamer/test/testkit"
)

// TestAllocations checks that decoding and folding a delta of args or content
// allocates nothing but the growing text, whether it causes an event or not. At the
// interval of the benchmarks every second delta causes one.
func TestAllocations(t *testing.T) {
	const deltas = 2000
	for _, format := range wireFormats {
		for what, inputs := range map[string][][]byte{
			"args":    callInputs(format, 1, 4*deltas),
			"content": textInputs(wires[format].text, 1, 4*deltas),
		} {
			t.Run(what, func(t *testing.T) {
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
			})
		}
	}
}

// TestLoadAllocations checks that loading the state of a session with a call, open or
// closed, allocates at most 15 times.
func TestLoadAllocations(t *testing.T) {
	for _, format := range wireFormats {
		open, closed := callStates(t, format)
		for what, s := range map[string]*State{"open": open, "closed": closed} {
			t.Run(what, func(t *testing.T) {
				data, err := s.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				if got := testing.AllocsPerRun(100, func() { s, err = Load(data) }); got > 15 || err != nil {
					t.Errorf("%s, %s: %.0f allocations, %v, want at most 15", format, what, got, err)
				}
			})
		}
	}
}

// TestHeap checks that an open call takes at most 350 B of heap without its args,
// and a session at most 1 KiB without its calls.
func TestHeap(t *testing.T) {
	if testkit.Race {
		t.Skip("objects are larger with the race detector")
	}
	for _, format := range wireFormats {
		if call, session := heapPer(format); call > 350 || session > 1024 {
			t.Errorf("%s: %.0f B for an open call, want at most 350; %.0f B for a session, want at most 1024", format, call, session)
		}
	}
}

// TestLinear checks that a byte of long args allocates as much as a byte of short
// args. BenchmarkFold shows that it takes as long too.
func TestLinear(t *testing.T) {
	for _, format := range wireFormats {
		short, long := math.Inf(1), math.Inf(1)
		for range 3 { // another allocation of the process may be counted
			short, long = min(short, bytesOf(format, 64<<10)), min(long, bytesOf(format, 512<<10))
			if long <= 2.5*short {
				break
			}
		}
		if long > 2.5*short {
			t.Errorf("%s: 512 KiB of args allocate %.1f B per byte, 64 KiB allocate %.1f", format, long, short)
		}
	}
}

// bytesOf returns the bytes that each byte of args allocates. The args have a size
// and come in 4-byte fragments.
func bytesOf(format string, size int) float64 {
	inputs := callInputs(format, 1, size)
	f, s := newFolder(), new(State)
	s.Read.Format = format
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, in := range inputs {
		f.fold(s, time.UnixMilli(int64(i)), in)
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
}
