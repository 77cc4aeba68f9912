package snapshot

import (
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

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
	return m
}

// ParseHeader returns the headers of a stored snapshot.
func ParseHeader(m map[string]string) Header {
	h := Header{Held: m[keyHeld]}
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

// HasEvents reports whether the session has events.
func (h *Header) HasEvents() bool { return h.Held != "" || h.Head != (events.ID{}) }
