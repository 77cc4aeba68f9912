package server

import (
	"testing"
	"testing/fstest"
)

// TestCgroupMemory reads limits as the kernel shows them inside and outside of
// containers.
func TestCgroupMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  uint64
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
