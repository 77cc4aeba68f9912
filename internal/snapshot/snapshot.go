// Package snapshot has the stored form of a session: its content, and the headers
// that a listing reads without it.
package snapshot

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"streamer/internal/session"

	"github.com/klauspost/compress/s2"
)

// A snapshot is stored as
//
//	1 byte   magic, which begins no text
//	1 byte   version
//	4 bytes  CRC-32C of all that follows, little-endian
//	         one s2 block, which begins with the length of its content: the state
const (
	magic   = 0xF5
	version = 1
	head    = 6 // bytes before the block

	// most bounds the content in bytes, whatever its stored form says.
	most = 1 << 30
	// keptScratch bounds the buffers in bytes that are kept between snapshots.
	keptScratch = 256 << 10
)

// Error reports that stored bytes are no snapshot.
type Error struct {
	Offset int // of the first wrong byte
	Msg    string
}

// Error returns where the snapshot is wrong, and how.
func (e *Error) Error() string {
	return fmt.Sprintf("snapshot: byte %d: %s", e.Offset, e.Msg)
}

// Encoder encodes snapshots and reuses its buffers. The zero value is ready to use.
type Encoder struct{ state, stored []byte }

// Encode returns the stored form of a state in memory of its own. It fails where the
// content is too large to be read again.
func (e *Encoder) Encode(s *session.State) ([]byte, error) {
	c, err := s.Append(e.state[:0])
	if err != nil {
		return nil, err
	}
	if len(c) > most {
		return nil, fmt.Errorf("snapshot: its content is %d bytes: at most %d can be read again", len(c), most)
	}
	need := head + s2.MaxEncodedLen(len(c))
	e.stored = slices.Grow(e.stored[:0], need)[:need]
	block := s2.Encode(e.stored[head:], c)
	data := make([]byte, head+len(block))
	data[0], data[1] = magic, version
	copy(data[head:], block)
	binary.LittleEndian.PutUint32(data[2:], checksum(data[head:]))
	e.state = c
	if cap(c) > keptScratch {
		*e = Encoder{}
	}
	return data, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// Load returns the state in a stored snapshot. Errors are those of session.Load, and
// *Error.
func Load(data []byte) (*session.State, error) {
	content, err := open(data)
	if err != nil {
		return nil, err
	}
	return session.Load(content)
}

func open(data []byte) ([]byte, error) {
	wrong := func(at int, format string, args ...any) ([]byte, error) {
		return nil, &Error{Offset: at, Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) < head:
		return wrong(len(data), "it ends here: the first %d bytes should say what it is", head)
	case data[0] != magic:
		return wrong(0, "0x%02x, want 0x%02x: it is no snapshot", data[0], magic)
	case data[1] != version:
		return wrong(1, "version %d: this program reads version %d", data[1], version)
	}
	block := data[head:]
	if want, got := binary.LittleEndian.Uint32(data[2:]), checksum(block); want != got {
		return wrong(2, "checksum %08x, but that of the %d bytes behind it is %08x: it is damaged", want, len(block), got)
	}
	switch n, err := s2.DecodedLen(block); {
	case err != nil:
		return wrong(head, "the length of its content: %v", err)
	case n > most:
		return wrong(head, "its content is %d bytes, want at most %d", n, most)
	}
	content, err := s2.Decode(nil, block)
	if err != nil {
		return wrong(head, "it cannot be decompressed: %v", err)
	}
	return content, nil
}
