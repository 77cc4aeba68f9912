// Package snapshot has the stored form of a session: its content, and the headers
// that a listing reads without it.
package snapshot

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
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

// Header is what a listing reads of a snapshot without its content. Fields that are
// absent or cannot be read are zero.
type Header struct {
	Input uint64    // number of the last input folded
	At    time.Time // when that was stored
	Head  events.ID // of the last event that the snapshot covers
	// HeadSeq is the sequence of that event in the event log.
	HeadSeq uint64
	Open    int         // calls
	Timer   events.Time // when the session's timer is due; 0 for none
	Time    events.Time // of the session; 0 if its last input was stored then
	// Held is why the session is held: there is no snapshot then.
	Held string
	// Erased: the session was erased and has nothing since.
	Erased bool
}

// The keys of the headers. Times are Unix milliseconds, that of keyAt nanoseconds.
const (
	keyInput   = broker.SnapshotHeader + "Input"
	keyAt      = broker.SnapshotHeader + "At"
	keyHead    = broker.SnapshotHeader + "Head"
	keyOpen    = broker.SnapshotHeader + "Open"
	keyTimer   = broker.SnapshotHeader + "Timer"
	keyTime    = broker.SnapshotHeader + "Time"
	keyHeld    = broker.SnapshotHeader + "Held"
	keyErased  = broker.SnapshotHeader + "Erased"
	keyHeadSeq = broker.SnapshotHeader + "HeadSeq"
)

// Map returns the headers as they are stored. Those of a session that is held have
// only the reason.
func (h *Header) Map() map[string]string {
	if h.Held != "" {
		return map[string]string{keyHeld: h.Held}
	}
	m := map[string]string{
		keyInput: strconv.FormatUint(h.Input, 10), keyHead: h.Head.String(), keyHeadSeq: strconv.FormatUint(h.HeadSeq, 10),
	}
	if !h.At.IsZero() {
		m[keyAt] = strconv.FormatInt(h.At.UnixNano(), 10)
	}
	set := func(key string, n int64) {
		if n != 0 {
			m[key] = strconv.FormatInt(n, 10)
		}
	}
	set(keyOpen, int64(h.Open))
	set(keyTimer, int64(h.Timer))
	set(keyTime, int64(h.Time))
	if h.Erased {
		m[keyErased] = "1"
	}
	return m
}

// ParseHeader returns the headers of a stored snapshot.
func ParseHeader(m map[string]string) Header {
	h := Header{Held: m[keyHeld], Erased: m[keyErased] != ""}
	h.Input, _ = strconv.ParseUint(m[keyInput], 10, 64)
	if at, err := strconv.ParseInt(m[keyAt], 10, 64); err == nil {
		h.At = time.Unix(0, at).UTC()
	}
	h.Head, _ = events.ParseID(m[keyHead])
	h.HeadSeq, _ = strconv.ParseUint(m[keyHeadSeq], 10, 64)
	h.Open, _ = strconv.Atoi(m[keyOpen])
	h.Timer, h.Time = timeOf(m[keyTimer]), timeOf(m[keyTime])
	return h
}

func timeOf(text string) events.Time {
	ms, _ := strconv.ParseInt(text, 10, 64) // zero where it is absent
	return events.Time(ms)
}

// HasEvents reports whether the session has events, besides that of its erasure.
func (h *Header) HasEvents() bool { return h.Held != "" || h.Head != (events.ID{}) && !h.Erased }
