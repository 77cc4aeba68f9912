package snapshot

import (
	"encoding/json"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// Header is what a listing reads of a snapshot without its content. Fields that are
// absent or cannot be read are zero.
type Header struct {
	Input uint64      // number of the last input folded
	At    time.Time   // when that was stored
	Head  events.ID   // of the last event in the session's event log
	Open  int         // calls
	Timer events.Time // when the session's timer is due; 0 for none
	Time  events.Time // of the session; 0 if its last input was stored then
	// Held is why the session is held: there is no snapshot then.
	Held string
	// Unsent is how many events in the snapshot are not stored yet.
	Unsent int
	// Last is the type of the event at Head, where the worker knew it.
	Last events.Type
	// Rewinds are those of the partition. They are in the checkpoint too, which can
	// be lost.
	Rewinds broker.Rewinds
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
	keyUnsent  = broker.SnapshotHeader + "Unsent"
	keyLast    = broker.SnapshotHeader + "Last"
	keyRewinds = broker.SnapshotHeader + "Rewinds"
)

// Map returns the headers as they are stored. Those of a session that is held have
// only the reason.
func (h *Header) Map() map[string]string {
	if h.Held != "" {
		return map[string]string{keyHeld: h.Held}
	}
	m := map[string]string{keyInput: strconv.FormatUint(h.Input, 10), keyHead: h.Head.String()}
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
	set(keyUnsent, int64(h.Unsent))
	if h.Last != "" {
		m[keyLast] = string(h.Last)
	}
	if len(h.Rewinds) > 0 {
		text, _ := json.Marshal(h.Rewinds) // numbers and times: cannot fail
		m[keyRewinds] = string(text)
	}
	return m
}

// ParseHeader returns the headers of a stored snapshot.
func ParseHeader(m map[string]string) Header {
	h := Header{Held: m[keyHeld], Last: events.Type(m[keyLast])}
	h.Input, _ = strconv.ParseUint(m[keyInput], 10, 64)
	if at, err := strconv.ParseInt(m[keyAt], 10, 64); err == nil {
		h.At = time.Unix(0, at).UTC()
	}
	h.Head, _ = events.ParseID(m[keyHead])
	h.Open, _ = strconv.Atoi(m[keyOpen])
	h.Timer, h.Time = timeOf(m[keyTimer]), timeOf(m[keyTime])
	h.Unsent, _ = strconv.Atoi(m[keyUnsent])
	if text := m[keyRewinds]; text != "" && json.Unmarshal([]byte(text), &h.Rewinds) != nil {
		h.Rewinds = nil
	}
	return h
}

func timeOf(text string) events.Time {
	ms, _ := strconv.ParseInt(text, 10, 64) // zero where it is absent
	return events.Time(ms)
}

// HasEvents reports whether the session has events.
func (h *Header) HasEvents() bool { return h.Held != "" || h.Unsent > 0 || h.Head != (events.ID{}) }
