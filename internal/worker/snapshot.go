package worker

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
//	1 byte   snapshotMagic, which begins no text
//	1 byte   snapshotVersion
//	4 bytes  CRC-32C of all that follows, little-endian
//	         one s2 block, which begins with the length of its content: the state
const (
	snapshotMagic   = 0xF5
	snapshotVersion = 1
	snapshotHead    = 6 // bytes before the block

	// maxSnapshot bounds the content in bytes, whatever its stored form says.
	maxSnapshot = 1 << 30
	// keptScratch bounds the buffers in bytes that are kept between snapshots.
	keptScratch = 256 << 10
)

// SnapshotError reports that stored bytes are no snapshot.
type SnapshotError struct {
	Offset int // of the first wrong byte
	Msg    string
}

// Error returns where the snapshot is wrong, and how.
func (e *SnapshotError) Error() string {
	return fmt.Sprintf("snapshot: byte %d: %s", e.Offset, e.Msg)
}

// snapshotEncoder encodes snapshots and reuses its buffers. The zero value is
// ready to use.
type snapshotEncoder struct{ state, stored []byte }

// encode returns the stored form of a state in memory of its own. It fails where the
// content is larger than maxSnapshot.
func (e *snapshotEncoder) encode(state *session.State) ([]byte, error) {
	c, err := state.Append(e.state[:0])
	if err != nil {
		return nil, err
	}
	if len(c) > maxSnapshot {
		return nil, fmt.Errorf("snapshot: its content is %d bytes: at most %d can be read again", len(c), maxSnapshot)
	}
	need := snapshotHead + s2.MaxEncodedLen(len(c))
	e.stored = slices.Grow(e.stored[:0], need)[:need]
	block := s2.Encode(e.stored[snapshotHead:], c)
	data := make([]byte, snapshotHead+len(block))
	data[0], data[1] = snapshotMagic, snapshotVersion
	copy(data[snapshotHead:], block)
	binary.LittleEndian.PutUint32(data[2:], checksum(data[snapshotHead:]))
	e.state = c
	if cap(c) > keptScratch {
		*e = snapshotEncoder{}
	}
	return data, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// decodeState returns the state in a snapshot. Errors are those of session.Load, and
// *SnapshotError.
func decodeState(data []byte) (*session.State, error) {
	content, err := openSnapshot(data)
	if err != nil {
		return nil, err
	}
	return session.Load(content)
}

// openSnapshot checks and decompresses the stored form.
func openSnapshot(data []byte) ([]byte, error) {
	wrong := func(at int, format string, args ...any) ([]byte, error) {
		return nil, &SnapshotError{Offset: at, Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) > 0 && data[0] == '{':
		return wrong(0, "it is JSON, as versions before the first release wrote it; this version reads 0x%02x and what follows it", snapshotMagic)
	case len(data) < snapshotHead:
		return wrong(len(data), "it ends here: the first %d bytes should say what it is", snapshotHead)
	case data[0] != snapshotMagic:
		return wrong(0, "0x%02x, want 0x%02x: it is no snapshot", data[0], snapshotMagic)
	case data[1] != snapshotVersion:
		return wrong(1, "version %d: this program reads version %d", data[1], snapshotVersion)
	}
	block := data[snapshotHead:]
	if want, got := binary.LittleEndian.Uint32(data[2:]), checksum(block); want != got {
		return wrong(2, "checksum %08x, but that of the %d bytes behind it is %08x: it is damaged", want, len(block), got)
	}
	switch n, err := s2.DecodedLen(block); {
	case err != nil:
		return wrong(snapshotHead, "the length of its content: %v", err)
	case n > maxSnapshot:
		return wrong(snapshotHead, "its content is %d bytes, want at most %d", n, maxSnapshot)
	}
	content, err := s2.Decode(nil, block)
	if err != nil {
		return wrong(snapshotHead, "it cannot be decompressed: %v", err)
	}
	return content, nil
}
