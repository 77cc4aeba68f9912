package damage

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// data is a copy of a data directory that is damaged.
type data struct {
	t     *testing.T
	dir   string
	early string // an older copy of the directory
}

// stream returns the directory of a stream.
func (d *data) stream(name string) string { return streamDir(d.t, d.dir, name) }

// must ends the test if err is not nil.
func (d *data) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// blocks returns the files with a stream's messages, oldest first.
func (d *data) blocks(name string) []string {
	d.t.Helper()
	files, err := filepath.Glob(filepath.Join(d.stream(name), "msgs", "*.blk"))
	d.must(err)
	if len(files) == 0 {
		d.t.Fatalf("stream %s has no blocks", name)
	}
	number := func(file string) int {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(file), ".blk"))
		d.must(err)
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return number(a) - number(b) })
	return files
}

// deleted removes the directory of a stream.
func (d *data) deleted(name string) { d.must(os.RemoveAll(d.stream(name))) }

// rolledBack replaces the files of a stream by those of the older copy.
func (d *data) rolledBack(name string) {
	dir := d.stream(name)
	d.must(os.RemoveAll(dir))
	d.must(os.CopyFS(dir, os.DirFS(streamDir(d.t, d.early, name))))
}

// truncated removes the last n bytes of the newest block, or half of it if n is 0.
func (d *data) truncated(name string, n int64) {
	all := d.blocks(name)
	file := all[len(all)-1]
	info, err := os.Stat(file)
	d.must(err)
	if n == 0 {
		n = info.Size() / 2
	}
	d.must(os.Truncate(file, max(0, info.Size()-n)))
}

// flipped flips one bit in the middle of a file.
func (d *data) flipped(file string) {
	content, err := os.ReadFile(file)
	d.must(err)
	if len(content) > 0 {
		content[len(content)/2] ^= 1 << 4
	}
	d.must(os.WriteFile(file, content, 0o600))
}

// flippedMiddle flips a bit in the middle of the newest block of a stream.
func (d *data) flippedMiddle(name string) {
	all := d.blocks(name)
	d.flipped(all[len(all)-1])
}

// flippedLast flips a bit in the last message of a stream.
func (d *data) flippedLast(name string) {
	all := d.blocks(name)
	file := all[len(all)-1]
	content, err := os.ReadFile(file)
	d.must(err)
	if n := len(content); n > 20 {
		content[n-20] ^= 1 << 4
	}
	d.must(os.WriteFile(file, content, 0o600))
}

// removed removes a file, if it exists.
func (d *data) removed(file string) {
	err := os.Remove(file)
	if !os.IsNotExist(err) {
		d.must(err)
	}
}
