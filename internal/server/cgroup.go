package server

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupMemory returns the memory in bytes that Linux allows this process: the
// lowest limit of its control group and of the groups above it, of version 1 or
// 2. It returns 0 if there is no limit. root is the root of the file system.
func cgroupMemory(root fs.FS) uint64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		text = []byte("0::/")
	}
	least := uint64(0)
	for line := range strings.Lines(string(text)) {
		controllers, group, ok := cgroupLine(line)
		if !ok {
			continue
		}
		for _, file := range cgroupFiles(controllers, group) {
			if n := limitIn(root, file); n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

// cgroupLine splits a line of /proc/self/cgroup: <hierarchy>:<controllers>:<path>.
func cgroupLine(line string) (controllers, group string, ok bool) {
	_, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
	if !ok {
		return "", "", false
	}
	controllers, group, ok = strings.Cut(rest, ":")
	// A path outside of the namespace begins with /..: Clean maps it to the root,
	// which is what this process can read.
	return controllers, path.Clean("/" + group), ok
}

// cgroupFiles returns the files with the limits of a group and of the groups
// above it. A line of version 2 names no controllers.
func cgroupFiles(controllers, group string) (files []string) {
	mount, names := "sys/fs/cgroup", []string{"memory.max", "memory.high"}
	if controllers != "" {
		mount, names = "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}
		if !strings.Contains(","+controllers+",", ",memory,") {
			return nil
		}
	}
	for ; ; group = path.Dir(group) {
		for _, name := range names {
			files = append(files, path.Join(mount, group, name))
		}
		if group == "/" {
			return files
		}
	}
}

// noLimit is the number from which on version 1 means no limit. The number it
// writes depends on the page size.
const noLimit = 1 << 60

// limitIn returns the number in a file. It returns 0 if the file is absent, or
// holds "max" or noLimit and more.
func limitIn(root fs.FS, file string) uint64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= noLimit {
		return 0
	}
	return n
}
