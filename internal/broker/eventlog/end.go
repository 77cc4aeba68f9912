package eventlog

import (
	"crypto/sha256"
	"slices"

	"streamer/internal/events"
)

// End is the newest events of a session, each of which names the one before: none is
// missing between them.
type End struct {
	Prev   uint64 // sequence of the message before the first, 0 if there is none
	Events []Stored
	Sum    [sha256.Size]byte // of the last, as Sum returns it
}

// Stored is where an event stands.
type Stored struct {
	Seq uint64
	ID  events.ID
}

// endMost bounds the events of an End. Where more are needed, the session is read.
const endMost = 256

// Add appends the next event of the session that is stored. Where it does not name the last
// one, a forged or damaged message stands between, and the End begins anew.
func (o *End) Add(e *events.Record) {
	n := len(o.Events)
	switch {
	case n == 0 || o.Events[n-1].Seq != e.Prev:
		o.Prev, o.Events = e.Prev, o.Events[:0]
	case n == endMost:
		o.Prev = o.Events[n/2-1].Seq
		o.Events = slices.Delete(o.Events, 0, n/2)
	}
	o.Events = append(o.Events, Stored{e.Seq, e.ID})
	o.Sum = Sum(e.Type, e.Call, e.Data)
}

// Last returns the session's last event.
func (o *End) Last() Stored { return o.Events[len(o.Events)-1] }

// After returns the events behind a message of the session, given by its sequence. ok is
// false if the End does not reach back to that.
func (o *End) After(seq uint64) (behind []Stored, ok bool) {
	if seq == o.Prev {
		return o.Events, true
	}
	i := slices.IndexFunc(o.Events, func(e Stored) bool { return e.Seq == seq })
	return o.Events[i+1:], i >= 0
}

// Sum returns a digest of what an event says.
func Sum(kind events.Type, call string, body []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(string(kind)+"\x00"+call+"\x00"), body...))
}
