package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// powerEnv names the environment variable with the file in which a program that is built
// with opened and synced records what is on the disk for certain.
const powerEnv = "STREAMER_TEST_POWER"

// opened is the package os that records files which are synced. A line is a letter and a
// path: S with the size at a sync, A for a file whose writes are all synced, T for one that is
// written anew without that, R for two paths of a file that is renamed.
var opened = patched{
	pkg: "os", file: "file.go", added: "power.go", content: `package os

import (
	"sync"
	"syscall"
)

var powerLog = sync.OnceValue(func() int {
	name, ok := syscall.Getenv("` + powerEnv + `")
	if !ok {
		return -1
	}
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		panic(err)
	}
	return fd
})

func notePower(line string) {
	if fd := powerLog(); fd >= 0 {
		_, _ = syscall.Write(fd, []byte(line+"\n"))
	}
}

func noteOpen(name string, flag int) {
	switch {
	case flag&O_SYNC != 0:
		notePower("A\t" + name)
	case flag&O_TRUNC != 0:
		notePower("T\t" + name)
	}
}

func sizeOf(f *File) int64 {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return -1
}

func noteSync(f *File, size int64) {
	if size >= 0 {
		notePower("S\t" + f.name + "\t" + decimal(size))
	}
}

func decimal(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return decimal(n/10) + string(rune('0'+n%10))
}
`,
	edits: [][2]string{
		{"	f.appendMode = flag&O_APPEND != 0\n", "	f.appendMode = flag&O_APPEND != 0\n	noteOpen(name, flag)\n"},
		{"	return rename(oldpath, newpath)\n", "	err := rename(oldpath, newpath)\n	if err == nil {\n		notePower(\"R\\t\" + oldpath + \"\\t\" + newpath)\n	}\n	return err\n"},
	},
}

// synced is the rest of it.
var synced = patched{pkg: "os", file: "file_posix.go", edits: [][2]string{
	{"	if e := f.pfd.Fsync(); e != nil {\n		return f.wrapErr(\"sync\", e)\n	}\n", "	size := sizeOf(f)\n	if e := f.pfd.Fsync(); e != nil {\n		return f.wrapErr(\"sync\", e)\n	}\n	noteSync(f, size)\n"},
}}

// wholly is the size of a file whose writes are all synced.
const wholly = int64(-1)

// onDisk reads what is on the disk for certain: the size by path.
func onDisk(log string) (map[string]int64, error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sizes := map[string]int64{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f := strings.Split(lines.Text(), "\t")
		switch {
		case f[0] == "A" && len(f) == 2:
			sizes[f[1]] = wholly
		case f[0] == "T" && len(f) == 2:
			delete(sizes, f[1])
		case f[0] == "S" && len(f) == 3:
			n, err := strconv.ParseInt(f[2], 10, 64)
			if err != nil {
				return nil, err
			}
			if sizes[f[1]] != wholly {
				sizes[f[1]] = n
			}
		case f[0] == "R" && len(f) == 3:
			renamed(sizes, f[1], f[2])
		default:
			return nil, fmt.Errorf("invalid line %q", lines.Text())
		}
	}
	return sizes, lines.Err()
}

// renamed changes the paths of a file, or of all files in a directory.
func renamed(sizes map[string]int64, from, to string) {
	delete(sizes, to)
	moved := map[string]int64{}
	for path, n := range sizes {
		if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || rest[0] == '/') {
			moved[to+rest] = n
			delete(sizes, path)
		}
	}
	maps.Copy(sizes, moved)
}

// loseUnsynced removes from a directory what is not on the disk for certain: the end of
// files, and files that were never synced.
func loseUnsynced(dir, log string) (bytes int64, err error) {
	sizes, err := onDisk(log)
	if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size, ok := sizes[path]
		switch {
		case !ok:
			bytes += info.Size()
			return os.Remove(path)
		case size != wholly && size < info.Size():
			bytes += info.Size() - size
			return os.Truncate(path, size)
		}
		return nil
	})
	return bytes, err
}

// failPower kills all servers at once, and each loses what it has not synced.
func (f *faultInjector) failPower(d time.Duration) {
	f.down.Lock()
	defer f.down.Unlock()
	for _, s := range f.c.servers {
		s.busy.Lock()
		defer s.busy.Unlock()
	}
	f.all(func(i int) { f.c.servers[i].end(syscall.SIGKILL) })
	var lost int64
	var failed error
	for _, dir := range f.c.dirs {
		n, err := loseUnsynced(dir, dir+powerSuffix)
		lost, failed = lost+n, errors.Join(failed, err)
	}
	if failed != nil {
		f.t.Error(failed)
	}
	time.Sleep(d)
	f.all(func(i int) { f.c.servers[i].start() })
	f.mu.Lock()
	f.unsynced += lost
	f.mu.Unlock()
}

// powerSuffix follows the directory of a server in the name of its record of synced files.
const powerSuffix = ".power"
