package server

import (
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: gcMax, 10 << 20: gcMax, 128 << 20: 125, 10 << 30: gcMin} {
		t.Run(fmt.Sprint(live), func(t *testing.T) {
			if got := gcPercent(live); got != want {
				t.Errorf("%d bytes in use: got %d %%, want %d", live, got, want)
			}
		})
	}
}

func TestSoftLimit(t *testing.T) {
	for container, want := range map[int64]int64{1: 1, 40 << 20: 20 << 20, 128 << 20: 96 << 20, 1000 << 20: 900 << 20} {
		t.Run(fmt.Sprint(container), func(t *testing.T) {
			if got := softLimit(container); got != want {
				t.Errorf("container with %d bytes: got %d, want %d", container, got, want)
			}
		})
	}
}

// TestBoundMemory checks that a container's limit becomes the runtime's, and
// that the environment wins over it.
func TestBoundMemory(t *testing.T) {
	was := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(was)
	container := fstest.MapFS{"sys/fs/cgroup/memory.max": &fstest.MapFile{Data: []byte("1048576000\n")}}
	for _, c := range []struct {
		name string
		root fstest.MapFS
		env  string
		want int64
	}{
		{"no container", fstest.MapFS{}, "", math.MaxInt64},
		{"GOMEMLIMIT in a container", container, "2GiB", math.MaxInt64},
		{"a container", container, "", 900 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", c.env)
			BoundMemory(c.root)
			if got := debug.SetMemoryLimit(-1); got != c.want {
				t.Errorf("%s: got a limit of %d, want %d", c.name, got, c.want)
			}
		})
	}
}

// TestQuiet checks that a process begins to be quiet once after each burst.
func TestQuiet(t *testing.T) {
	var q quiet
	allocated := uint64(0)
	for i, c := range []struct {
		more uint64
		want bool
	}{
		{quietBytes + 1, false},
		{0, false},
		{quietBytes, false},
		{0, true},
		{0, false},
		{0, false},
		{quietBytes + 1, false},
		{0, false},
		{quietBytes + 1, false},
		{0, false},
		{0, false},
		{0, true},
	} {
		t.Run(fmt.Sprint(c.more, " ", c.want), func(t *testing.T) {
			allocated += c.more
			if got := q.begins(allocated); got != c.want {
				t.Errorf("step %d, %d bytes more: got %t, want %t", i, c.more, got, c.want)
			}
		})
	}
}

// TestCgroupMemory reads limits as the kernel shows them inside and outside of
// containers.
func TestCgroupMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"not Linux", nil, 0},
		{"version 2 without a limit", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0},
		{"version 2 in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/memory.high": "max\n"}, 512 << 20},
		{"memory.high is a limit too", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/memory.high": "268435456\n"}, 256 << 20},
		{"version 2 as a service", map[string]string{
			"proc/self/cgroup": "0::/system.slice/streamer.service\n",
			"sys/fs/cgroup/system.slice/streamer.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                  "max\n",
		}, 1 << 30},
		{"a group above has less", map[string]string{
			"proc/self/cgroup":                "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":    "1073741824\n",
			"sys/fs/cgroup/a/memory.max":      "134217728\n",
			"sys/fs/cgroup/other/memory.max":  "1000\n",
			"sys/fs/cgroup/a/b/c/memory.high": "1000\n",
		}, 128 << 20},
		{"version 1 in a container", map[string]string{
			"proc/self/cgroup":                           "12:pids:/docker/4711\n9:memory:/docker/4711\n3:cpu,cpuacct:/docker/4711\n0::/system.slice/containerd.service\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n",
			"sys/fs/cgroup/pids/memory.limit_in_bytes":   "1000\n",
		}, 256 << 20},
		{"version 1 without a limit", map[string]string{"proc/self/cgroup": "9:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"a path outside of the namespace", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"no list of groups", map[string]string{"sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"nonsense", map[string]string{"proc/self/cgroup": "x\n:\n0::\n", "sys/fs/cgroup/memory.max": "-5\n"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := cgroupMemory(root); got != c.want {
				t.Errorf("got %d bytes, want %d", got, c.want)
			}
		})
	}
}
