package server

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestGCPercent(t *testing.T) {
	for _, c := range []struct {
		live, limit uint64
		want        int
	}{
		{0, 0, gcMost},
		{10 << 20, 0, gcMost},
		{128 << 20, 0, 125},
		{10 << 30, 0, gcLeast},
		{10 << 30, 64 << 30, gcLeast},
		{10 << 30, 16 << 30, gcScarce},
		{10 << 20, 128 << 20, 160},
		{32 << 20, 128 << 20, gcLeast},
		{64 << 20, 128 << 20, gcScarce},
	} {
		if got := gcPercent(c.live, c.limit); got != c.want {
			t.Errorf("%d bytes in use, limit %d: got %d %%, want %d", c.live, c.limit, got, c.want)
		}
	}
}

func TestSoftLimit(t *testing.T) {
	for container, want := range map[uint64]uint64{1: 1, 40 << 20: 20 << 20, 128 << 20: 96 << 20, 1000 << 20: 900 << 20} {
		if got := softLimit(container); got != want {
			t.Errorf("container with %d bytes: got %d, want %d", container, got, want)
		}
	}
}

// TestBoundMemory checks that a container's limit becomes the runtime's, and
// that the environment wins over it.
func TestBoundMemory(t *testing.T) {
	was := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(was)
	container := fstest.MapFS{"sys/fs/cgroup/memory.max": &fstest.MapFile{Data: []byte("1048576000\n")}}
	t.Setenv("GOMEMLIMIT", "")
	if got := BoundMemory(fstest.MapFS{}); got != 0 {
		t.Errorf("no container: got a limit of %d, want none", got)
	}
	if got, want := BoundMemory(container), uint64(900<<20); got != want || debug.SetMemoryLimit(-1) != int64(want) {
		t.Errorf("container: got %d, and the runtime has %d, want %d", got, debug.SetMemoryLimit(-1), want)
	}
	t.Setenv("GOMEMLIMIT", "2GiB") // the runtime has read it by itself when it started
	debug.SetMemoryLimit(2 << 30)
	if got, want := BoundMemory(container), uint64(2<<30); got != want || debug.SetMemoryLimit(-1) != int64(want) {
		t.Errorf("GOMEMLIMIT: got %d, and the runtime has %d, want %d", got, debug.SetMemoryLimit(-1), want)
	}
}

// TestQuietCollects checks that garbage is collected once, when a process has become
// quiet.
func TestQuietCollects(t *testing.T) {
	const much = quietLeast + quietBytes
	var q quiet
	allocated := uint64(0)
	for i, c := range []struct {
		more uint64
		want bool
	}{
		{much, false}, {0, false}, {0, false}, {1, true}, {1, false}, {0, false}, // once after a burst
		{quietBytes, false}, {quietBytes, false}, // too little
		{much, false}, {much, false}, {1, false}, {1, false}, {much, false}, {1, false}, {1, false}, {1, true},
	} {
		allocated += c.more
		if got := q.collect(allocated); got != c.want {
			t.Errorf("step %d, %d bytes more: got %t, want %t", i, c.more, got, c.want)
		}
	}
}
