package inputs

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
	lines := NewLines(strings.NewReader(in), MaxLine)
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

// TestBinary: a stream that begins with a zero byte is binary, and all of its bytes
// are in its pieces.
func TestBinary(t *testing.T) {
	if NewLines(strings.NewReader("{}"), 9).Binary() || NewLines(strings.NewReader(""), 9).Binary() {
		t.Error("text, or nothing, is binary")
	}
	in := "\x00\x00\x01\n\r\n \x00" + strings.Repeat("x", 100_000)
	lines := NewLines(strings.NewReader(in), MaxLine)
	if !lines.Binary() {
		t.Error("a stream that begins with a zero byte is not binary")
	}
	got := ""
	for {
		piece, err := lines.Piece()
		got += string(piece)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(piece) == 0 || len(piece) > pieceSize {
			t.Fatalf("got a piece of %d bytes, %v", len(piece), err)
		}
	}
	if got != in {
		t.Errorf("got %d bytes, want the %d of the stream", len(got), len(in))
	}
}
