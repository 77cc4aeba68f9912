package main

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupMemory returns the memory in bytes that Linux lets this process use: the
// lowest limit of its control group and of those above it, of version 1 or 2.
// It returns 0 where there is none. root is the root of the file system.
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
	// A path that leaves the namespace begins with /..: its root is what can be seen.
	return controllers, path.Clean("/" + group), ok
}

// cgroupFiles returns the files with the limits of a group and of those above
// it. Version 2 has no controllers in its line.
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

// noLimit is where version 1 begins to mean that there is none: its largest
// number depends on the size of a page.
const noLimit = 1 << 60

// limitIn returns the number in a file, 0 where it is absent, "max", or so large
// that it is no limit.
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
