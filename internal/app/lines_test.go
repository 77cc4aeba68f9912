package app

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestLines: every line is returned once, with its line end, and the last one may
// have none. A line may be longer than the buffer.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	in := "a\n\n" + long + "\r\nb"
	lines := NewLines(strings.NewReader(in))
	var got []string
	for {
		line, err := lines.Next()
		got = append(got, string(line))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(got, "") != in || len(got) != 4 || got[2] != long+"\r\n" {
		t.Errorf("got %d lines of %d bytes, want 4 of %d", len(got), len(strings.Join(got, "")), len(in))
	}
}
