package inputs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the maximum length of a line of a recorded stream, in bytes.
const MaxLine = 64 << 20

// LengthError reports a line that is longer than the limit.
type LengthError struct{ Limit int }

// Error returns the text of the error.
func (e *LengthError) Error() string { return fmt.Sprintf("longer than %d bytes", e.Limit) }

// Lines reads a stream line by line.
type Lines struct {
	r   *bufio.Reader
	max int
}

// NewLines returns a reader of the lines of in, which have at most limit bytes.
func NewLines(in io.Reader, limit int) Lines { return Lines{bufio.NewReaderSize(in, 64<<10), limit} }

// Next returns the next line with its line end. The last line is returned
// together with io.EOF, and may be empty.
func (l Lines) Next() ([]byte, error) {
	var line []byte
	for {
		piece, err := l.r.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) && len(line) <= l.max {
			return line, err
		}
		if len(line) > l.max {
			return nil, &LengthError{l.max}
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
