package client

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestFollow: what is added to a file is read, and a file that is truncated or
// replaced is read from its beginning. An unfinished line then gets an end.
func TestFollow(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(0, "one\n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	f, err := openFollower(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(f, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	expect("one\n")
	write(os.O_APPEND, "two\nunfinished")
	expect("two\nunfinished")
	write(os.O_TRUNC, "new\n")
	expect("\nnew\n")
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	write(os.O_EXCL, "another\n")
	expect("another\n")
	stop()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: got %v, want %v", err, context.Canceled)
	}
}

// TestFollowMissing: the file must exist.
func TestFollowMissing(t *testing.T) {
	if _, err := openFollower(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

// TestCancelReader: a read ends with the context although the source has nothing.
func TestCancelReader(t *testing.T) {
	source, feed := io.Pipe()
	defer feed.Close()
	ctx, stop := context.WithCancel(t.Context())
	in := newCancelReader(ctx, source)
	go func() { _, _ = io.WriteString(feed, "abc") }() // until it is read
	got := make([]byte, 2)
	for _, want := range []string{"ab", "c"} {
		if n, err := in.Read(got); err != nil || string(got[:n]) != want {
			t.Errorf("got %q, %v, want %q", got[:n], err, want)
		}
	}
	stop()
	if _, err := in.Read(got); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
