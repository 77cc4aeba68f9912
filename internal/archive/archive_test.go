package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// partOf returns a part with one event, whose line is text, of a session.
func partOf(t *testing.T, session, text string, at time.Time) *Part {
	t.Helper()
	token, err := events.Token(session)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPart(token)
	e := &events.Event{EventID: events.ID{Seq: 7, N: 1}, Timestamp: events.Time(at.UnixMilli())}
	if err := p.Add(e, []byte(text)); err != nil || p.Len() != 1 {
		t.Fatalf("%d events, error %v", p.Len(), err)
	}
	return p
}

func linesOf(t *testing.T, place, session string) (lines []string, err error) {
	t.Helper()
	err = Lines(t.Context(), place, session, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	return lines, err
}

// TestFiles: files are written once, listed by session and day, and come back in order.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", events.MaxToken)
	day := time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
	write := func(session, text string, at time.Time) File {
		t.Helper()
		f, err := a.Write(t.Context(), partOf(t, session, text, at))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	second := write("s.1", `"b"`, day.AddDate(0, 0, 1))
	first := write("s.1", `"a"`, day)
	if write("s.1", `"a"`, day) != first {
		t.Error("the same events have another name")
	}
	write(long, `"c"`, day)
	if want := "2026-01-02/s=2E1.1767323045006.7-1.1."; !strings.HasPrefix(first.Name(), want) || !strings.HasSuffix(first.Name(), suffix) {
		t.Errorf("the name is %s, want %s…%s", first.Name(), want, suffix)
	}
	if !first.EndsWith(&events.Event{EventID: first.ID, Timestamp: events.Time(day.UnixMilli())}) || first.EndsWith(&events.Event{EventID: first.ID}) {
		t.Error("the file ends with another event")
	}
	for name, c := range map[string]struct {
		since   time.Time
		session string
		want    string
	}{
		"session":   {time.Time{}, "s.1", first.Name() + " " + second.Name()},
		"since":     {day.AddDate(0, 0, 1), "", second.Name()},
		"no such":   {time.Time{}, "s", ""},
		"long name": {day, long, "2026-01-02/" + Label(long)},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := a.Files(t.Context(), c.since, c.session)
			var names []string
			for _, f := range files {
				names = append(names, f.Name())
			}
			if got := strings.Join(names, " "); err != nil || !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
	if got, err := linesOf(t, dir, "s.1"); err != nil || !slices.Equal(got, []string{`"a"`, `"b"`}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestDamaged: a file that has other lines than its name states is refused, alone and in
// its archive. An interrupted write leaves nothing that is read.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := a.Write(t.Context(), partOf(t, "s", `"a"`, time.UnixMilli(0)))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, f.Name())
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".part", whole[:10], 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := linesOf(t, dir, ""); err != nil || len(got) != 1 {
		t.Errorf("beside an incomplete file: got %q, %v", got, err)
	}
	for name, body := range map[string]string{"truncated": string(whole[:len(whole)-4]), "empty": "", "other": "\"b\"\n", "more": "\"a\"\n\"a\"\n"} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, place := range []string{dir, file} {
				if _, err := linesOf(t, place, ""); err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
					t.Errorf("%s: got error %v, want one that names the file", place, err)
				}
			}
		})
	}
	plain := filepath.Join(dir, "events.jsonl")
	if err := os.WriteFile(plain, []byte("\"a\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := linesOf(t, plain, ""); err != nil || fmt.Sprint(got) != `["a"]` {
		t.Errorf("a plain file: got %q, %v", got, err)
	}
}

// TestBucketRefused: a place or an endpoint that is none is named.
func TestBucketRefused(t *testing.T) {
	for _, c := range [][2]string{{"", "https://s3.example.com"}, {"/prefix", "https://s3.example.com"}, {"b", "s3.example.com"}, {"b", "https://"}, {"b", "https://example.com/path"}, {"b", "ftp://example.com"}} {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			if _, err := openBucket(c[0], func(string) string { return c[1] }); err == nil || !strings.Contains(err.Error(), "need s3://bucket/prefix") {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// unreadable is a store that cannot be read at present.
type unreadable struct{ directory }

func (unreadable) open(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("no answer")
}

// TestUnreadable: a file that was written before stays where it cannot be read back, and is
// removed if it is damaged.
func TestUnreadable(t *testing.T) {
	dir := directory(t.TempDir())
	f, err := (&Archive{dir, "dir"}).Write(t.Context(), partOf(t, "s", `"a"`, time.UnixMilli(0)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Archive{unreadable{dir}, "dir"}).Write(t.Context(), partOf(t, "s", `"a"`, time.UnixMilli(0))); err == nil {
		t.Error("a file that cannot be read back was written")
	}
	if _, err := os.Stat(dir.path(f.Name())); err != nil {
		t.Errorf("the file that was there: %v", err)
	}
	for _, content := range []string{"", "\x1f\x8bx", "other"} {
		if err := os.WriteFile(dir.path(f.Name()), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (&Archive{dir, "dir"}).Write(t.Context(), partOf(t, "s", `"a"`, time.UnixMilli(0))); err == nil {
			t.Errorf("%q is accepted", content)
		}
		if _, err := os.Stat(dir.path(f.Name())); err == nil {
			t.Errorf("%q stays", content)
		}
	}
}
