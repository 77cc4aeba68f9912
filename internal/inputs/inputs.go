// Package inputs defines the messages of the input log: their kinds, the headers
// that clients set, and the trace context that is copied from an input to its
// events.
//
// The package has no state. It promises nothing about order, duplicates and
// crashes: package inputlog does. Several readers share an Input, so none of them
// changes its Header or Data.
package inputs

import (
	"errors"
	"time"
)

// Errors of an append to the input log.
var (
	// ErrTooLarge is the error for an input that is larger than the log accepts.
	ErrTooLarge = errors.New("inputs: too large")
	// ErrFull is the error for an input that is not stored because the log has
	// reached its maximum size.
	ErrFull = errors.New("inputs: input log is full")
)

// Kind is the last token of an input's subject.
type Kind string

// The kinds of inputs. Clients publish the first seven; streamer publishes the
// others.
const (
	Delta     Kind = "delta"
	Result    Kind = "result"
	Progress  Kind = "progress"
	Interrupt Kind = "interrupt"
	Answer    Kind = "answer" // of a person, to calls that wait
	Resume    Kind = "resume" // what interrupts stopped may go on
	End       Kind = "end"
	Clock     Kind = "clock" // a deadline or flush of a session
	Erase     Kind = "erase" // a session begins anew, and what was before it is erased
	Rules     Kind = "rules" // new settings of a partition
	Probe     Kind = "probe" // a no-op input of no session
)

// OfSession reports whether inputs of the kind belong to a session.
func (k Kind) OfSession() bool {
	switch k {
	case Delta, Result, Progress, Interrupt, Answer, Resume, End, Clock, Erase:
		return true
	}
	return false
}

// Own reports whether only streamer publishes inputs of the kind.
func (k Kind) Own() bool { return k == Clock || k == Erase }

// Input is one message of the input log.
type Input struct {
	Seq       uint64
	At        time.Time // when the server stored the message
	Token     string    // of the session, unchanged; "" if Kind does not belong to a session
	Kind      Kind      // "" if the subject is not the subject of an input
	Partition int
	// Foreign is set for a message that is skipped and counted: its partition is
	// not that of its token, its subject is not the subject of an input, or only
	// streamer may publish on its subject and streamer did not write it.
	Foreign bool
	Subject string
	Header  Header
	Data    []byte
}

// Format returns the name of the stream format that the input declares, "" if it
// declares none.
func (in *Input) Format() string { return in.Header.Get(HeaderFormat) }

// Namespace returns the namespace of the stream that a delta or an end belongs to, "" for
// the root.
func (in *Input) Namespace() string { return in.Header.Get(HeaderNamespace) }

// ParentCall returns the id of the call that caused the calls of a delta, "" for none.
func (in *Input) ParentCall() string { return in.Header.Get(HeaderParentCall) }

// Trace returns the trace context of the input, nil if it has none.
func (in *Input) Trace() map[string]string { return in.Header.trace() }
