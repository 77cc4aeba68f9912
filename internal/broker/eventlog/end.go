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

// endMost bounds the events of an End: who needs more reads the session.
const endMost = 256

// Add appends the next event of the session that is stored. Where it does not name the last
// one, a forged or damaged message stands between, and the End begins anew.
func (t *End) Add(e *events.Record) {
	n := len(t.Events)
	switch {
	case n == 0 || t.Events[n-1].Seq != e.Prev:
		t.Prev, t.Events = e.Prev, t.Events[:0]
	case n == endMost:
		t.Prev = t.Events[n/2-1].Seq
		t.Events = slices.Delete(t.Events, 0, n/2)
	}
	t.Events = append(t.Events, Stored{e.Seq, e.ID})
	t.Sum = Sum(e.Type, e.Call, e.Data)
}

// Last returns the session's last event.
func (t *End) Last() Stored { return t.Events[len(t.Events)-1] }

// After returns the events behind a message of the session, given by its sequence. ok is
// false if the End does not reach back to that.
func (t *End) After(seq uint64) (behind []Stored, ok bool) {
	if seq == t.Prev {
		return t.Events, true
	}
	i := slices.IndexFunc(t.Events, func(e Stored) bool { return e.Seq == seq })
	return t.Events[i+1:], i >= 0
}

// Sum returns a digest of what an event says.
func Sum(kind events.Type, call string, body []byte) [sha256.Size]byte {
	return sha256.Sum256(append([]byte(string(kind)+"\x00"+call+"\x00"), body...))
}
