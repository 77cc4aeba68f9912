package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"streamer/internal/inputs"
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

// Recorded is an input of a recorded session, which is a line of JSON:
//
//	{"at":1226,"kind":"delta","data":{…}}
type Recorded struct {
	At   time.Duration // since the beginning of the recording; 0 if unknown
	Kind inputs.Kind   // delta, result, progress, interrupt, answer or end
	Data []byte        // the body of the input
}

// ParseRecorded returns the input that a line of a recording states. It returns
// false if the line is anything else, such as an event of a provider.
func ParseRecorded(line []byte) (Recorded, bool) {
	// Most lines are deltas of a provider, which need not be parsed.
	if !bytes.Contains(line, []byte(`"kind"`)) || !bytes.Contains(line, []byte(`"data"`)) {
		return Recorded{}, false
	}
	var fields struct {
		At   int64           `json:"at"` // milliseconds
		Kind inputs.Kind     `json:"kind"`
		Data json.RawMessage `json:"data"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if dec.Decode(&fields) != nil || len(fields.Data) == 0 {
		return Recorded{}, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return Recorded{}, false
	}
	if !slices.Contains(recordedKinds, fields.Kind) {
		return Recorded{}, false
	}
	at := min(max(fields.At, 0), math.MaxInt64/int64(time.Millisecond))
	return Recorded{time.Duration(at) * time.Millisecond, fields.Kind, fields.Data}, true
}

var recordedKinds = []inputs.Kind{inputs.Delta, inputs.Result, inputs.Progress, inputs.Interrupt, inputs.Answer, inputs.Resume, inputs.End}

// misrecorded returns what is wrong with a line that has the members of a recorded input and
// is none, nil for any other line.
func misrecorded(line []byte) error {
	var fields map[string]any
	if !bytes.Contains(line, []byte(`"kind"`)) || !bytes.Contains(line, []byte(`"at"`)) || json.Unmarshal(line, &fields) != nil || len(fields) != 3 || fields["at"] == nil || fields["data"] == nil {
		return nil
	}
	if kind, ok := fields["kind"].(string); ok && !slices.Contains(recordedKinds, inputs.Kind(kind)) {
		return fmt.Errorf("kind is %.40q, not one of %q", kind, recordedKinds)
	}
	if _, ok := fields["at"].(float64); !ok {
		return fmt.Errorf("at is %.40v, not a number of milliseconds", fields["at"])
	}
	return nil
}

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

// newCancelReader returns a reader of source whose reads return context.Canceled when
// ctx ends. A read of the source that is then under way ends with the process: a
// pipe has no deadline.
func newCancelReader(ctx context.Context, source io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, source)
		w.CloseWithError(err) // nil is the end of the source
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Canceled) })
	return r
}
