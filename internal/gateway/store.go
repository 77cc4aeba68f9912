package gateway

import (
	"context"
	"errors"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// ErrNotOpen is the error for an input that arrives before the store accepts
// inputs.
var ErrNotOpen = errors.New("gateway: not open for inputs yet")

// ErrHeld is the error of an erasure of a session whose inputs no worker folds.
var ErrHeld = errors.New("the session is held: `streamer recover` shows what can be done")

// NotStoredError is the error for an input that is certainly not stored. Clients read why.
type NotStoredError struct {
	Why  error
	Busy bool // clients send more than is processed
}

// Error returns that the input is not stored, and why.
func (e *NotStoredError) Error() string { return "gateway: not stored: " + e.Why.Error() }

// Store is the gateway's view of the two logs. Its methods are called from several
// goroutines. A token is the result of events.Token for a session.
type Store interface {
	// Tail calls fn with the events of a session after sequence after: the
	// stored events with live false, then once fn(events.Record{}, true), then
	// new events. It calls flush, if not nil, after new events and after the call
	// without an event, when no event waits. It returns the error of fn, flush or
	// ctx. Any other error means that the log cannot be read.
	Tail(ctx context.Context, token string, after uint64, fn func(e events.Record, live bool) error, flush func() error) error
	// TailMany does the same for the events of several sessions, in the order of the
	// log: of those with the tokens or, if match is not nil, of those for whose
	// tokens it returns true.
	TailMany(ctx context.Context, tokens []string, match func(token string) bool, after uint64, fn func(e events.Record, live bool) error, flush func() error) error
	// EventsOf calls fn with the stored events of one type of a session after
	// sequence after, in order. It returns the error of fn or ctx, or states that
	// the log cannot be read.
	EventsOf(ctx context.Context, token string, typ events.Type, after uint64, fn func(events.Record) error) error
	// LastOf returns the last stored event of one type of a session, zero if there
	// is none.
	LastOf(ctx context.Context, token string, typ events.Type) (events.Record, error)
	// FirstEvent returns the oldest stored event of a session, zero if there is none.
	FirstEvent(ctx context.Context, token string) (events.Record, error)
	// Head returns the last stored event of a session, zero if there is none.
	Head(ctx context.Context, token string) (seq uint64, last events.Record, err error)
	// SessionAt returns the token of the session of an event, "" if it is not stored.
	SessionAt(ctx context.Context, seq uint64) (token string, err error)
	// Publish stores an input of a kind (delta, result, progress, interrupt,
	// end) and returns its sequence. The same msgID is stored once; repeated reports that
	// it was stored before. The error is inputs.ErrTooLarge, inputs.ErrFull, ErrNotOpen or
	// *NotStoredError where that is the reason.
	Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (seq uint64, repeated bool, err error)
	// Track follows what becomes of the inputs of a session that are stored from now
	// on.
	Track(ctx context.Context, token string) (Tracking, error)
	// Sessions returns at most limit sessions that have events, newest first.
	Sessions(ctx context.Context, limit int) ([]SessionInfo, error)
	// Erase deletes all that is stored of a session. It can be repeated after an error, but
	// for ErrHeld.
	Erase(ctx context.Context, token string) (Erased, error)
	// Event reads one event of a session: events.ErrNotFound if it is not stored.
	Event(ctx context.Context, token string, seq uint64) (events.Record, error)
	// Blob reads a large value: events.ErrNotFound if it is not stored.
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
	// EventBounds returns the sequences of the first and last event of the log.
	// For an empty log first is last + 1.
	EventBounds(ctx context.Context) (first, last uint64, err error)
	// Retention returns how long inputs and events are stored.
	Retention() (inputs, events time.Duration)
	// Ready returns an error that explains what does not work.
	Ready(ctx context.Context) error
	// MaxPayload returns the maximum size of an input in bytes, with headers.
	MaxPayload() int
}

// SessionInfo is a row in the list of sessions.
type SessionInfo struct {
	Session string
	Last    time.Time // time of its last event
	Open    int       // calls without a result
	About   string    // description of a session that has not begun; "" for others
}

// Erased is what an erasure deleted.
type Erased struct {
	Inputs int `json:"inputs"`
	Events int `json:"events"`
	Chunks int `json:"chunks"` // of large values, each of at most 64 KiB
}
