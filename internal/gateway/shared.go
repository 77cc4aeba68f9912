package gateway

import (
	"sync"
	"sync/atomic"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// sharedEvent is an event with what its streams have in common. Each form is made once, for
// the first stream that needs it.
type sharedEvent struct {
	record events.Record
	live   bool // it was stored while the streams were open, so several take it

	parsing, framing sync.Once
	parsed           *events.Event
	encoded          []byte // the chunk
	head             int    // length of the size of the chunk
}

// event returns the parsed event, which must not be changed.
func (sh *sharedEvent) event() *events.Event {
	sh.parsing.Do(func() { sh.parsed = encode.Parse(sh.record) })
	return sh.parsed
}

// frame returns the frame of the event in the stateless protocol of enc.
func (sh *sharedEvent) frame(enc encode.Encoder) []byte {
	chunk := sh.chunk(enc)
	return chunk[sh.head : len(chunk)-len(crlf)]
}

// chunk returns the frame as a chunk.
func (sh *sharedEvent) chunk(enc encode.Encoder) []byte {
	sh.framing.Do(func() {
		frame := enc.Event(make([]byte, len(chunkSpace), len(chunkSpace)+len(sh.record.Data)+frameSpace), sh.record, nil)
		sh.encoded = closeChunk(frame)
		sh.head = len(sh.encoded) - len(frame) + len(chunkSpace) - len(crlf)
	})
	return sh.encoded
}

// frameSpace is the space for the fields of a frame besides its data.
const frameSpace = 128

// recent are the last events that were passed to streams, at most one of each
// remainder of the sequence, so that the streams of a session share them.
type recent [recentEvents]atomic.Pointer[sharedEvent]

// Bounds of the events that recent holds.
const (
	recentEvents = 64
	recentBytes  = 256 << 10 // of one event; a larger one is not shared
)

// share returns the shared form of an event. A stored event of a history is not
// shared: other streams read it at another time.
func (c *recent) share(r events.Record, live bool) *sharedEvent {
	if !live || len(r.Data) > recentBytes {
		return &sharedEvent{record: r}
	}
	slot := &c[r.Seq%recentEvents]
	old := slot.Load()
	if old != nil && old.record.Seq == r.Seq {
		return old
	}
	sh := &sharedEvent{record: r, live: true}
	if slot.CompareAndSwap(old, sh) {
		return sh
	}
	if now := slot.Load(); now.record.Seq == r.Seq {
		return now
	}
	return sh
}
