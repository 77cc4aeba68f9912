package app

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line of a recorded stream, in bytes.
const MaxLine = 64 << 20

// Lines reads a recorded stream line by line.
type Lines struct{ r *bufio.Reader }

// NewLines returns a reader of the lines of in.
func NewLines(in io.Reader) Lines { return Lines{bufio.NewReaderSize(in, 64<<10)} }

// Next returns the next line with its line end. The last line is returned
// together with io.EOF, and may be empty.
func (l Lines) Next() ([]byte, error) {
	var line []byte
	for {
		piece, err := l.r.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > MaxLine {
			return nil, fmt.Errorf("longer than %d bytes", MaxLine)
		}
	}
}

// Binary reports whether the stream is not text. It waits for the first byte: in
// AWS event streams, which begin with the length of a message, it is 0.
func (l Lines) Binary() bool {
	first, err := l.r.Peek(1)
	return err == nil && first[0] == 0
}

// pieceSize is the maximum length of a piece, in bytes.
const pieceSize = 32 << 10

// Piece returns the bytes that are available, at least one unless it returns an
// error.
func (l Lines) Piece() ([]byte, error) {
	piece := make([]byte, pieceSize)
	n, err := l.r.Read(piece)
	return piece[:n], err
}
