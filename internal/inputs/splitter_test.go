package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// cut returns the pieces of a text, each as "line:data".
func cut(text string) (got []string) {
	var p pieces
	var list []Piece
	n := 0
	for line := range strings.Lines(text) {
		n++
		list = p.line(list, []byte(line), n)
	}
	for _, p := range p.close(list) {
		got = append(got, fmt.Sprintf("%d:%s", p.Line, p.Data))
	}
	return got
}

// TestPieces: an SSE event is one input, and so is every other line.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"{\"a\":1}\n\n{\"b\":2}", []string{"1:{\"a\":1}\n", "3:{\"b\":2}"}},
		{"data: 1\n\ndata: 2\n\n", []string{"1:data: 1\n\n", "3:data: 2\n\n"}},
		{"event: x\r\ndata: 1\r\n\r\n", []string{"1:event: x\r\ndata: 1\r\n\n"}},
		{": hello\n\nid: 7\ndata: 1", []string{"1:: hello\n\n", "3:id: 7\ndata: 1\n\n"}},
		{"error: {}\n\n", []string{"1:error: {}\n\n"}},
		{"Loading…\n{\"a\":1}\ndone\n", []string{"1:Loading…\n", "2:{\"a\":1}\n", "3:done\n"}},
		{"Loading…\ndata: 1\n\n", []string{"1:Loading…\n", "2:data: 1\n\n"}},
		{"data: 1\nwarning\ndata: 2\n\n", []string{"1:data: 1\n", "2:warning\n", "3:data: 2\n\n"}},
		{"0:\"Hi\"\na:{}\n", []string{"1:0:\"Hi\"\n", "2:a:{}\n"}},
		{"dataset ready\n", []string{"1:dataset ready\n"}},
		{"\n \n", nil},
	} {
		t.Run(fmt.Sprintf("%.60s", c.text), func(t *testing.T) {
			if got := cut(c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

// TestLongEvent: an SSE event without an end is published in pieces.
func TestLongEvent(t *testing.T) {
	text := strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000)
	got := cut(text)
	if len(got) != 4 {
		t.Errorf("%d bytes: got %d pieces, want 4", len(text), len(got))
	}
}

// FuzzPieces: no byte other than white space between inputs is lost.
func FuzzPieces(f *testing.F) {
	f.Add("event: x\ndata: 1\n\n{\"a\":1}\nplain\n")
	f.Fuzz(func(t *testing.T, text string) {
		var p pieces
		var list []Piece
		n := 0
		for line := range strings.Lines(text) {
			n++
			list = p.line(list, []byte(line), n)
		}
		var all []byte
		for _, p := range p.close(list) {
			all = append(all, p.Data...)
		}
		if got, want := bytes.Join(bytes.Fields(all), nil), bytes.Join(bytes.Fields([]byte(text)), nil); !bytes.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestSplitter checks that a piece is returned when it is complete, before the next
// line is read, and that the pieces of a broken stream end with the last complete one.
func TestSplitter(t *testing.T) {
	in, out := io.Pipe()
	s := NewSplitter(in, 100)
	write := func(text string) { go io.WriteString(out, text) }
	next := func(want string, line int) {
		t.Helper()
		if p, err := s.Next(); string(p.Data) != want || p.Line != line || err != nil {
			t.Errorf("got %q in line %d, %v, want %q in line %d", p.Data, p.Line, err, want, line)
		}
	}
	write("data: 1\n\ndata: 2\n")
	next("data: 1\n\n", 1)
	write("{}\n")
	next("data: 2\n", 3)
	next("{}\n", 4)
	go func() { io.WriteString(out, "data: 3\n"); out.CloseWithError(io.ErrUnexpectedEOF) }()
	if p, err := s.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken stream: got %q, %v", p.Data, err)
	}
}
