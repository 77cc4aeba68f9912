package events

import (
	"errors"
	"time"
)

// ErrNotFound reports that an event or blob is not stored, or no longer stored.
var ErrNotFound = errors.New("events: not found")

// Record is one event as it is stored in the event log. Its Data is shared by
// all readers and must not be changed.
type Record struct {
	Seq   uint64 // in the event log; the cursor after which a client resumes
	Prev  uint64 // Seq of the session's previous event, 0 if it is the first
	Token string // of the session
	Type  Type   // Synthetic for a synthetic message
	ID    ID
	Call  string
	At    time.Time // when the server stored it
	Data  []byte    // what Event.Body returned
}
