package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Source is a stream to publish.
type Source struct {
	io.ReadCloser
	// Live is whether the end of the stream is not known. Reads then return
	// context.Canceled when the context ends with which the source was opened.
	Live bool
	// Lines is the number of lines, 0 where the end is not known.
	Lines uint64
}

// OpenReplay opens a stream to publish: standard input if file is -.
func OpenReplay(ctx context.Context, stdin io.Reader, file string, follow bool) (Source, error) {
	if file == "-" {
		return Source{io.NopCloser(newCancelReader(ctx, stdin)), true, 0}, nil
	}
	if follow {
		f, err := openFollower(ctx, file)
		return Source{f, true, 0}, err
	}
	f, err := os.Open(file)
	if err != nil {
		return Source{}, err
	}
	if info, err := f.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return Source{struct {
			io.Reader
			io.Closer
		}{newCancelReader(ctx, f), f}, true, 0}, nil
	}
	lines, err := countLines(f)
	if err != nil {
		_ = f.Close()
		return Source{}, err
	}
	return Source{f, false, lines}, nil
}

func countLines(f *os.File) (lines uint64, err error) {
	buf := make([]byte, 64<<10)
	for last := byte('\n'); ; {
		n, err := f.Read(buf)
		lines += uint64(bytes.Count(buf[:n], []byte{'\n'}))
		if n > 0 {
			last = buf[n-1]
		}
		if errors.Is(err, io.EOF) {
			if last != '\n' {
				lines++
			}
			_, err = f.Seek(0, io.SeekStart)
			return lines, err
		} else if err != nil {
			return 0, err
		}
	}
}

// OwnSpeed stands for the speed of a source if none is given.
const OwnSpeed time.Duration = -1

// Speed returns a given speed. OwnSpeed is no pauses for a live stream, which has
// its own, and 1 for others.
func (s *Source) Speed(given time.Duration) time.Duration {
	switch {
	case given != OwnSpeed:
		return given
	case s.Live:
		return 0
	}
	return 1
}

// SpeedOf returns how many times faster than recorded a speed is, 0 without pauses.
func SpeedOf(name string) time.Duration {
	switch name {
	case "1":
		return 1
	case "10":
		return 10
	case "max":
		return 0
	default:
		return OwnSpeed
	}
}

// OpenInput opens a file: stdin for - and for none.
func OpenInput(stdin io.Reader, file string) (io.ReadCloser, error) {
	if file == "" || file == "-" {
		return io.NopCloser(stdin), nil
	}
	return os.Open(file)
}
