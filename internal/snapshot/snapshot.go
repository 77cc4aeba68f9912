// Package snapshot has the stored form of a session: its content, and the headers
// that a listing reads without it.
package snapshot

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"streamer/internal/events"
	"streamer/internal/session"

	"github.com/klauspost/compress/s2"
)

// A snapshot is stored as
//
//	1 byte   magic, which begins no text
//	1 byte   version
//	4 bytes  CRC-32C of all that follows, little-endian
//	         one s2 block, which begins with the length of its content
//
// The content of the block is a list of fields: unsigned integers as varints,
// strings and bytes with their length as a varint before them.
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
	Offset  int  // of the first wrong byte
	Content bool // Offset counts in the decompressed content, not in the stored bytes
	Msg     string
}

// Error returns where the snapshot is wrong, and how.
func (e *Error) Error() string {
	in := ""
	if e.Content {
		in = " of its content"
	}
	return fmt.Sprintf("snapshot: byte %d%s: %s", e.Offset, in, e.Msg)
}

// Record is the content of a snapshot: the state after an input, the head of the
// session's event log at that moment, and the events that the log may lack.
type Record struct {
	State  json.RawMessage
	Head   Point
	Base   Point // the event before Events
	Events []*Event
}

// Point is a place in a session's event log.
type Point struct {
	Seq uint64
	ID  events.ID
}

// Event is an event as a snapshot has it.
type Event struct {
	ID   events.ID
	Type events.Type
	Call string
	// Status is a result's.
	Status events.Status
	Trace  map[string]string
	Body   []byte
	Blobs  []events.Blob
	Seq    uint64 // in the event log, once it is stored
}

// Encoder encodes snapshots and reuses its buffers. The zero value is ready to use.
type Encoder struct{ state, content, stored []byte }

// Encode returns the stored form of r with the state s, in memory of its own. It
// fails where the content is too large to be read again.
func (e *Encoder) Encode(s *session.State, r Record) (data []byte, err error) {
	if e.state, err = s.Append(e.state[:0]); err != nil {
		return nil, err
	}
	r.State = e.state
	return e.encode(&r)
}

func (e *Encoder) encode(r *Record) ([]byte, error) {
	c := appendRecord(e.content[:0], r)
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
	e.content = c
	if cap(c) > keptScratch {
		*e = Encoder{}
	}
	return data, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendRecord(b []byte, r *Record) []byte {
	b = appendBytes(b, r.State)
	b = appendPoint(b, r.Head)
	b = appendPoint(b, r.Base)
	b = binary.AppendUvarint(b, uint64(len(r.Events)))
	for i := range r.Events {
		b = appendEvent(b, r.Events[i])
	}
	return b
}

func appendEvent(b []byte, o *Event) []byte {
	b = appendPoint(b, Point{o.Seq, o.ID})
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

func appendPoint(b []byte, p Point) []byte {
	b = binary.AppendUvarint(b, p.Seq)
	b = binary.AppendUvarint(b, p.ID.Seq)
	return binary.AppendUvarint(b, uint64(p.ID.N))
}

func appendBytes[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Load returns the content of a stored snapshot and the state in it.
func Load(data []byte) (r Record, s *session.State, err error) {
	if r, err = Decode(data); err != nil {
		return r, nil, err
	}
	s, err = session.Load(r.State)
	return r, s, err
}

// Decode returns the content of a stored snapshot. An error is an *Error. The bytes in the
// record share one piece of memory, which is not data's.
func Decode(data []byte) (Record, error) {
	content, err := open(data)
	if err != nil {
		return Record{}, err
	}
	f := fields{content: content}
	r := Record{State: f.bytes("state"), Head: f.point("head"), Base: f.point("base")}
	for n := f.count("events"); n > 0 && f.err == nil; n-- {
		r.Events = append(r.Events, f.event())
	}
	if f.err == nil && f.at < len(content) {
		f.fail(f.at, "%d bytes follow the last event: nothing should", len(content)-f.at)
	}
	if f.err != nil {
		return Record{}, f.err
	}
	return r, nil
}

// open checks and decompresses the stored form.
func open(data []byte) ([]byte, error) {
	wrong := func(at int, format string, args ...any) ([]byte, error) {
		return nil, &Error{Offset: at, Msg: fmt.Sprintf(format, args...)}
	}
	switch {
	case len(data) > 0 && data[0] == '{':
		return wrong(0, "it is JSON, as versions before the first release wrote it; this version reads 0x%02x and what follows it", magic)
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

// fields reads the content of a snapshot. After the first error it returns
// zero values.
type fields struct {
	content []byte
	at      int
	err     error
}

func (f *fields) fail(at int, format string, args ...any) {
	if f.err == nil {
		f.err = &Error{Offset: at, Content: true, Msg: fmt.Sprintf(format, args...)}
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

func (f *fields) point(what string) Point {
	p := Point{Seq: f.number(what)}
	p.ID.Seq = f.number(what)
	at := f.at
	n := f.number(what)
	if n > 1<<31-1 {
		f.fail(at, "%s: %d is no place of an event", what, n)
		return Point{}
	}
	p.ID.N = int(n)
	return p
}

func (f *fields) event() *Event {
	p := f.point("event id")
	o := &Event{
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
