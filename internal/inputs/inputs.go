// Package inputs is the vocabulary of the input log: what an input is, the kinds
// there are, the headers that clients set, and the trace context that goes from
// an input to its events.
//
// The package holds no state and makes no promise on order, duplicates or
// crashes: package inputlog does. An Input is a value that its readers share: they
// do not change its Header or Data.
package inputs

import (
	"errors"
	"time"
)

// Errors of an append to the input log.
var (
	// ErrTooLarge reports that an input is above the log's limit.
	ErrTooLarge = errors.New("inputs: too large")
	// ErrFull reports that the log has as many bytes as it may have.
	ErrFull = errors.New("inputs: input log is full")
)

// Kind is the last token of an input's subject.
type Kind string

// The kinds of inputs. Clients publish the first five; streamer publishes the
// others.
const (
	Delta     Kind = "delta"
	Result    Kind = "result"
	Progress  Kind = "progress"
	Interrupt Kind = "interrupt"
	End       Kind = "end"
	Clock     Kind = "clock" // a deadline or flush of a session
	Rules     Kind = "rules" // new settings of a partition
	Probe     Kind = "probe" // a no-op input of no session
)

// OfSession reports whether inputs of the kind belong to a session.
func (k Kind) OfSession() bool {
	switch k {
	case Delta, Result, Progress, Interrupt, End, Clock:
		return true
	}
	return false
}

// Input is one message of the input log.
type Input struct {
	Seq       uint64
	At        time.Time // when the server stored it
	Token     string    // of the session, as it came; "" where Kind is not of a session
	Kind      Kind      // "" if the subject is none of the contract's
	Partition int
	// Foreign reports that the message is skipped and counted: it is in a
	// partition its token does not belong to, on no subject of the contract, or
	// on a subject of streamer's own and not written by it.
	Foreign bool
	Subject string
	Header  Header
	Data    []byte
}

// Format returns the name of the stream format that the input declares, "" if it
// declares none.
func (in *Input) Format() string { return in.Header.Get(HeaderFormat) }

// Trace returns the trace context of the input, nil if it has none.
func (in *Input) Trace() map[string]string { return in.Header.trace() }
