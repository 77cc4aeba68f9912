package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const readSize = 32 << 10

// followEvery is the time between two reads at the end of a file.
const followEvery = 200 * time.Millisecond

// follower reads a file that grows, from its beginning, until a context ends. If
// the file becomes shorter, or another one takes its name, it is read from its
// beginning again.
type follower struct {
	done <-chan struct{}
	name string
	file *os.File
	read int64 // bytes of the file
	last byte  // that was read
}

// openFollower opens a file that grows. When ctx ends, reads return context.Canceled.
func openFollower(ctx context.Context, name string) (*follower, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &follower{done: ctx.Done(), name: name, file: file, last: '\n'}, nil
}

func (f *follower) Close() error { return f.file.Close() }

func (f *follower) Read(b []byte) (int, error) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		n, err := f.file.Read(b)
		if n > 0 {
			f.read += int64(n)
			f.last = b[n-1]
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		restarted, err := f.restart()
		if err != nil {
			return 0, err
		}
		if restarted && f.last != '\n' && len(b) > 0 { // the last line gets no end any more
			b[0], f.last = '\n', '\n'
			return 1, nil
		}
		if restarted {
			continue
		}
		select {
		case <-tick.C:
		case <-f.done:
			return 0, context.Canceled
		}
	}
}

// restart begins at the beginning if the file became shorter or another one took
// its name. It reports whether it did.
func (f *follower) restart() (bool, error) {
	now, err := f.file.Stat()
	if err != nil {
		return false, err
	}
	if now.Size() < f.read {
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		f.read = 0
		return true, nil
	}
	named, err := os.Stat(f.name)
	if err != nil || os.SameFile(named, now) {
		return false, nil // while a file is replaced, it may be missing
	}
	next, err := os.Open(f.name)
	if err != nil {
		return false, fmt.Errorf("the file was replaced: %w", err)
	}
	err = f.file.Close()
	f.file, f.read = next, 0
	return true, err
}

// cancelReader is a reader whose reads end when a context ends, although those of
// the source may not.
type cancelReader struct {
	done   <-chan struct{}
	chunks <-chan chunk
	rest   chunk
}

type chunk struct {
	data []byte
	err  error
}

// newCancelReader returns a reader of source whose reads return context.Canceled when
// ctx ends. A read of the source that is then under way ends with the process: a
// pipe has no deadline.
func newCancelReader(ctx context.Context, source io.Reader) io.Reader {
	chunks := make(chan chunk)
	go func() {
		for {
			data := make([]byte, readSize)
			n, err := source.Read(data)
			select {
			case chunks <- chunk{data[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return &cancelReader{done: ctx.Done(), chunks: chunks}
}

func (r *cancelReader) Read(b []byte) (int, error) {
	for len(r.rest.data) == 0 {
		if r.rest.err != nil {
			return 0, r.rest.err
		}
		select {
		case r.rest = <-r.chunks:
		case <-r.done:
			return 0, context.Canceled
		}
	}
	n := copy(b, r.rest.data)
	r.rest.data = r.rest.data[n:]
	return n, nil
}
