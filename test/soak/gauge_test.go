package soak

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"streamer/test/testkit"
)

// sample is what a process used at a moment.
type sample struct {
	at                         time.Duration // since the beginning
	heap, rss, goroutines, fds float64
	resident, sessions, folded float64
	collections                float64 // of garbage, since the process began
}

func (s sample) String() string {
	return fmt.Sprintf("%7s: heap %5.1f MB, resident memory %5.1f MB, %3.0f goroutines, %3.0f file descriptors, %4.0f live sessions, %5.1f MB of sessions in memory, %8.0f inputs folded",
		s.at.Round(time.Second), s.heap/1e6, s.rss/1e6, s.goroutines, s.fds, s.resident, s.sessions/1e6, s.folded)
}

// measure returns a sample of a process.
func measure(p *process, at time.Duration) (sample, error) {
	m, err := p.metrics()
	return sample{
		at: at, heap: m["go_memstats_heap_alloc_bytes"], rss: m["process_resident_memory_bytes"],
		goroutines: m["go_goroutines"], fds: m["process_open_fds"],
		resident: m["streamer_sessions_resident"], sessions: m["streamer_sessions_bytes"], folded: m["streamer_inputs_folded_total"],
		collections: m["go_gc_duration_seconds_count"],
	}, err
}

// Growth that the checks allow: garbage, and connections that end at the moment.
const (
	heapGrowth = 16e6
	rssGrowth  = 64e6
	restGrowth = 10
)

// checkFlat checks that the memory of the last quarter of a run is not more than that
// of the second quarter, after the first has filled caches. The smallest heap of a
// quarter is that after a garbage collection, if there was one: a quarter of a short
// run may have none, and the heap then grows by its garbage alone. Only a short run may
// go without a comparison.
func checkFlat(t *testing.T, all []sample, short bool) {
	t.Helper()
	skip := t.Errorf
	if short {
		skip = t.Logf
	}
	n := len(all) / 4
	if n == 0 {
		skip("memory is not compared: %d samples are too few", len(all))
		return
	}
	early, late := all[n:2*n], all[3*n:]
	flat(t, "resident memory, median", median(early), median(late), 1.2, rssGrowth)
	if !collected(early) || !collected(late) {
		skip("the heap is not compared: no garbage was collected in a quarter")
		return
	}
	flat(t, "heap after garbage collection", least(early), least(late), 1.3, heapGrowth)
}

// flat checks that a use grew by no more than a factor and a number of bytes.
func flat(t *testing.T, what string, early, late, factor, growth float64) {
	t.Helper()
	t.Logf("%s: %.1f MB in the second quarter, %.1f MB in the last", what, early/1e6, late/1e6)
	if late > early*factor+growth {
		t.Errorf("%s grew from %.1f MB to %.1f MB", what, early/1e6, late/1e6)
	}
}

// collected reports whether garbage was collected between the samples.
func collected(list []sample) bool { return list[len(list)-1].collections > list[0].collections }

// least returns the smallest heap.
func least(list []sample) float64 {
	return slices.MinFunc(list, func(a, b sample) int { return cmp.Compare(a.heap, b.heap) }).heap
}

// median returns the median of the resident memory.
func median(list []sample) float64 {
	values := make([]float64, len(list))
	for i, s := range list {
		values[i] = s.rss
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// checkReturned waits until a process without load uses as many goroutines and file
// descriptors as before the load.
func checkReturned(t *testing.T, p *process, before sample) {
	t.Helper()
	testkit.Until(t, "goroutines and file descriptors", func() error {
		now, err := measure(p, 0)
		if err != nil {
			return err
		}
		if now.goroutines > before.goroutines+restGrowth || now.fds > before.fds+restGrowth || now.resident > 0 {
			return fmt.Errorf("before the load\n%v\nnow\n%v", before, now)
		}
		t.Logf("goroutines %.0f before the load, %.0f after; file descriptors %.0f and %.0f", before.goroutines, now.goroutines, before.fds, now.fds)
		return nil
	})
}
