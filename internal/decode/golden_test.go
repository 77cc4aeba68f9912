package decode

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/test/testkit"
)

// TestGolden reads each testdata/<format>/*.jsonl, one input per line, and
// compares its chunks, one per line, with the file *.chunks beside it. It reads
// testdata/<format>/*.txt, except deltas.txt, in the same way: these are streams
// that are not JSON.
func TestGolden(t *testing.T) {
	for _, name := range Names() {
		files, err := filepath.Glob(filepath.Join("testdata", name, "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			t.Errorf("format %s has no streams in testdata/%s", name, name)
		}
		for _, file := range append(files, texts(t, name)...) {
			t.Run(name+"/"+strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) { golden(t, file) })
		}
	}
}

// texts returns the streams of a format that are not JSON.
func texts(t testing.TB, format string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", format, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "deltas.txt" })
}

func golden(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m State
	var r Reader
	var read strings.Builder
	for line := range bytes.Lines(data) {
		read.WriteString(transcript(&r, &m, bytes.TrimSpace(line), ""))
	}
	// A new format does not change the files of the others.
	got := strings.ReplaceAll(read.String(), strings.Join(Names(), ", "), "…")
	path := strings.TrimSuffix(file, filepath.Ext(file)) + ".chunks"
	testkit.Golden(t, path, got)
}

// transcript reads one input and returns its chunks and problems as lines.
func transcript(r *Reader, m *State, input []byte, format string) string {
	r.Reset(m, input, format, Limits{})
	return remaining(r)
}

// remaining returns the chunks and problems of the rest of an input as lines.
func remaining(r *Reader) string {
	var b strings.Builder
	for r.Next() {
		for _, c := range r.Chunks() {
			b.WriteString(spell(c) + "\n")
		}
		if p := r.Problem(); p != nil {
			fmt.Fprintf(&b, "problem %s at %d line %d: %s\n", p.Code, p.Offset, p.Line, p.Text)
		}
	}
	return b.String()
}

var kindNames = [...]string{"start", "fragment", "seal", "next", "text", "reasoning", "part_end", "finish", "usage", "ended", "result", "human", "human_text", "await", "resume", "progress", "run_start", "run_end", "attempt", "failure", "rename", "listed", "answer", "done"}

// spell returns a chunk on one line: its kind, then the fields that are set.
func spell(c chunks.Chunk) string {
	var b strings.Builder
	b.WriteString(kindNames[c.Kind])
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if f := v.Field(i); name != "Kind" && !f.IsZero() {
			if f.Kind() == reflect.String {
				fmt.Fprintf(&b, " %s=%q", name, f.String())
			} else {
				fmt.Fprintf(&b, " %s=%v", name, f.Interface())
			}
		}
	}
	return b.String()
}
