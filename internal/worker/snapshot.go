package worker

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"streamer/internal/events"

	"github.com/klauspost/compress/s2"
)

// A snapshot is stored as
//
//	1 byte   snapshotMagic, which begins no text
//	1 byte   snapshotVersion
//	4 bytes  CRC-32C of all that follows, little-endian
//	         one s2 block, which begins with the length of its content
//
// The content of the block is a list of fields: unsigned integers as varints,
// strings and bytes with their length as a varint before them.
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
	Offset  int  // of the first wrong byte
	Content bool // Offset counts in the decompressed content, not in the stored bytes
	Msg     string
}

// Error returns where the snapshot is wrong, and how.
func (e *SnapshotError) Error() string {
	in := ""
	if e.Content {
		in = " of its content"
	}
	return fmt.Sprintf("snapshot: byte %d%s: %s", e.Offset, in, e.Msg)
}

// record is the content of a snapshot: the state after input N, the head of the
// session's event log at that moment, and the events that the log may lack.
type record struct {
	State  []byte
	Head   point
	Base   point
	Events []outgoing
}

// snapshotEncoder encodes snapshots and reuses its buffers. The zero value is
// ready to use.
type snapshotEncoder struct {
	state, content, stored []byte
	events                 []outgoing
}

// encode returns the stored form of r in memory of its own. It fails where the
// content is larger than maxSnapshot.
func (e *snapshotEncoder) encode(r *record) ([]byte, error) {
	c := appendRecord(e.content[:0], r)
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
	e.content = c
	if cap(c) > keptScratch {
		*e = snapshotEncoder{}
	}
	return data, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendRecord(b []byte, r *record) []byte {
	b = appendBytes(b, r.State)
	b = appendPoint(b, r.Head)
	b = appendPoint(b, r.Base)
	b = binary.AppendUvarint(b, uint64(len(r.Events)))
	for i := range r.Events {
		b = appendOutgoing(b, &r.Events[i])
	}
	return b
}

func appendOutgoing(b []byte, o *outgoing) []byte {
	b = appendPoint(b, point{o.Seq, o.ID})
	b = appendBytes(b, o.Type)
	b = appendBytes(b, o.Call)
	b = appendBytes(b, o.Status)
	b = binary.AppendUvarint(b, uint64(len(o.Trace)))
	if len(o.Trace) > 0 {
		for _, k := range slices.Sorted(maps.Keys(o.Trace)) {
			b = appendBytes(appendBytes(b, k), o.Trace[k])
		}
	}
	b = appendBytes(b, o.Body)
	b = binary.AppendUvarint(b, uint64(len(o.Blobs)))
	for i := range o.Blobs {
		b = appendBytes(b, o.Blobs[i].Data)
	}
	return b
}

func appendPoint(b []byte, p point) []byte {
	b = binary.AppendUvarint(b, p.Seq)
	b = binary.AppendUvarint(b, p.ID.Seq)
	return binary.AppendUvarint(b, uint64(p.ID.N))
}

func appendBytes[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeSnapshot returns the content of a stored snapshot. An error is a
// *SnapshotError. The bytes in the record share one piece of memory, which is
// not data's.
func decodeSnapshot(data []byte) (record, error) {
	content, err := openSnapshot(data)
	if err != nil {
		return record{}, err
	}
	f := fields{content: content}
	r := record{State: f.bytes("state"), Head: f.point("head"), Base: f.point("base")}
	for n := f.count("events"); n > 0 && f.err == nil; n-- {
		r.Events = append(r.Events, f.outgoing())
	}
	if f.err == nil && f.at < len(content) {
		f.fail(f.at, "%d bytes follow the last event: nothing should", len(content)-f.at)
	}
	if f.err != nil {
		return record{}, f.err
	}
	return r, nil
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

// fields reads the content of a snapshot. After the first error it returns
// zero values.
type fields struct {
	content []byte
	at      int
	err     error
}

func (f *fields) fail(at int, format string, args ...any) {
	if f.err == nil {
		f.err = &SnapshotError{Offset: at, Content: true, Msg: fmt.Sprintf(format, args...)}
	}
}

func (f *fields) number(what string) uint64 {
	if f.err != nil {
		return 0
	}
	v, n := binary.Uvarint(f.content[f.at:])
	if n <= 0 {
		f.fail(f.at, "%s: want a number of at most 64 bits", what)
		return 0
	}
	f.at += n
	return v
}

// count reads a number of things of which each takes a byte at least.
func (f *fields) count(what string) int {
	at := f.at
	v := f.number(what)
	if left := len(f.content) - f.at; v > uint64(left) {
		f.fail(at, "%s: %d where %d bytes are left", what, v, left)
		return 0
	}
	return int(v)
}

func (f *fields) bytes(what string) []byte {
	n := f.count(what)
	b := f.content[f.at : f.at+n : f.at+n]
	f.at += n
	return b
}

func (f *fields) text(what string) string { return string(f.bytes(what)) }

func (f *fields) point(what string) point {
	p := point{Seq: f.number(what)}
	p.ID.Seq = f.number(what)
	at := f.at
	n := f.number(what)
	if n > 1<<31-1 {
		f.fail(at, "%s: %d is no place of an event", what, n)
		return point{}
	}
	p.ID.N = int(n)
	return p
}

func (f *fields) outgoing() outgoing {
	p := f.point("event id")
	o := outgoing{
		ID: p.ID, Seq: p.Seq,
		Type: events.Type(f.text("event type")), Call: f.text("call"), Status: events.Status(f.text("status")),
	}
	if n := f.count("trace"); n > 0 {
		o.Trace = map[string]string{}
		for ; n > 0 && f.err == nil; n-- {
			k := f.text("trace header")
			o.Trace[k] = f.text("trace value")
		}
	}
	o.Body = f.bytes("event body")
	for n := f.count("blobs"); n > 0 && f.err == nil; n-- {
		if data := f.bytes("blob"); f.err == nil {
			o.Blobs = append(o.Blobs, events.NewBlob(data))
		}
	}
	return o
}
