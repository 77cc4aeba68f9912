// Package archive keeps the events of sessions as compressed JSON Lines in a directory or
// in a bucket of S3.
//
// It promises:
//   - A file has consecutive events of one session. Its name has the day and the id of
//     the last one, their number, and a hash of the lines: DAY/SESSION.….jsonl.gz. It is
//     never changed.
//   - A file that Write returned was read back, and has this number and this hash. Files
//     of the same events have the same name, so a write can be repeated.
//   - Files of a session in the order of Files have its events in order.
package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"streamer/internal/events"
)

// Archive is a directory or a bucket with the files of sessions.
type Archive struct {
	store store
	place string
}

// store keeps files. Names are DAY/FILE.
type store interface {
	// list calls fn with the names that are not before since.
	list(ctx context.Context, since string, fn func(name string)) error
	// put stores a file. One that exists has the same content.
	put(ctx context.Context, name string, content []byte) error
	open(ctx context.Context, name string) (io.ReadCloser, error)
	remove(ctx context.Context, name string) error
}

// Open returns the archive at a place: a directory, or s3://bucket/prefix.
func Open(place string) (*Archive, error) {
	if rest, isBucket := strings.CutPrefix(place, "s3://"); isBucket {
		s, err := openBucket(rest, os.Getenv)
		if err != nil {
			return nil, fmt.Errorf("archive: %s: %w", place, err)
		}
		return &Archive{s, place}, nil
	}
	return &Archive{directory(place), place}, nil
}

// Files returns the files of the days since a time, in order of their last events; those
// of one session, if it is not "".
func (a *Archive) Files(ctx context.Context, since time.Time, session string) (files []File, err error) {
	label := ""
	if session != "" {
		token, err := events.Token(session)
		if err != nil {
			return nil, err
		}
		label = Label(token)
	}
	err = a.store.list(ctx, since.UTC().Format(time.DateOnly), func(name string) {
		if f, ok := parseName(name); ok && (label == "" || f.Label == label) {
			files = append(files, f)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("archive: %s: %w", a.place, err)
	}
	slices.SortFunc(files, func(x, y File) int {
		return cmp.Or(x.Last.Compare(y.Last), cmp.Compare(x.ID.Seq, y.ID.Seq), cmp.Compare(x.ID.N, y.ID.N))
	})
	return files, nil
}

// Write stores the lines of a part, and reads them back. It returns their file.
func (a *Archive) Write(ctx context.Context, p *Part) (File, error) {
	if err := p.gzip.Close(); err != nil {
		return File{}, err
	}
	f := p.file
	f.Hash = hashOf(p.hash)
	err := a.store.put(ctx, f.Name(), p.content.Bytes())
	if err == nil {
		if err = a.Read(ctx, f, func([]byte) error { return nil }); isDamage(err) { // else it may be an older file that is good
			err = errors.Join(err, a.store.remove(context.WithoutCancel(ctx), f.Name()))
		}
	}
	if err != nil {
		return f, fmt.Errorf("archive: %s: %w", a.place, err)
	}
	return f, nil
}

// Read calls fn with the lines of a file. It returns an error if the file has others than
// its name states; fn was then called with what it has.
func (a *Archive) Read(ctx context.Context, f File, fn func(line []byte) error) error {
	r, err := a.store.open(ctx, f.Name())
	if err == nil {
		defer r.Close()
		err = read(r, f, fn)
	}
	if err != nil {
		return fmt.Errorf("archive: %s/%s: %w", a.place, f.Name(), err)
	}
	return nil
}

// Lines calls fn with the lines of an archive, or of one file, which may be compressed;
// those of one session, if it is not "" and the place is an archive.
func Lines(ctx context.Context, place, session string, fn func(line []byte) error) error {
	if !strings.HasPrefix(place, "s3://") {
		info, err := os.Stat(place)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return readFile(place, fn)
		}
	}
	a, err := Open(place)
	if err != nil {
		return err
	}
	files, err := a.Files(ctx, time.Time{}, session)
	for _, f := range files {
		if err == nil {
			err = a.Read(ctx, f, fn)
		}
	}
	return err
}

func readFile(name string, fn func(line []byte) error) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	f, _ := parseName("/" + filepath.Base(name)) // checks the lines if the name is one of an archive
	if err := read(in, f, fn); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// maxLine bounds a line, which can have a large value.
const maxLine = 1 << 30

func read(in io.Reader, want File, fn func(line []byte) error) error {
	buffered := bufio.NewReader(in)
	in = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		in = z
	}
	sum, count := sha256.New(), 0
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		count++
		addLine(sum, lines.Bytes())
		if err := fn(lines.Bytes()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", count+1, err)
	}
	if want.Hash != "" && (count != want.Count || hashOf(sum) != want.Hash) {
		return fmt.Errorf("%w: %d lines with the hash %s, want %d with %s", errDamaged, count, hashOf(sum), want.Count, want.Hash)
	}
	return nil
}

var errDamaged = errors.New("damaged")

// isDamage reports whether a file was read and has other content than its name states.
func isDamage(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, errDamaged) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF)
}

func addLine(sum hash.Hash, line []byte) {
	sum.Write(line)
	sum.Write([]byte{'\n'})
}

// hashOf returns half of a SHA-256, which names of files have room for.
func hashOf(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)[:16]) }
