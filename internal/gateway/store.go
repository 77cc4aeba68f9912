package gateway

import (
	"context"
	"errors"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// Errors a Store answers with where the gateway is to tell more than that
// something failed.
var (
	// ErrTooLarge is an input above the store's limit.
	ErrTooLarge = errors.New("gateway: too large")
	// ErrFull is an input that is not stored because the log has as many bytes
	// as it may have.
	ErrFull = errors.New("gateway: input log is full")
	// ErrNotOpen is an input that came before inputs are taken.
	ErrNotOpen = errors.New("gateway: not open for inputs yet")
)

// Store is what the gateway needs of the two logs. Its methods are called from
// many goroutines. A token is what events.Token makes of a session.
type Store interface {
	// Tail calls fn with the events of a session after sequence after: the
	// history with live false, then once fn(events.Record{}, true), then what comes.
	// It returns fn's error or ctx's; any other means the log cannot be read.
	Tail(ctx context.Context, token string, after uint64, fn func(e events.Record, live bool) error) error
	// Publish stores an input of a kind (delta, result, progress, interrupt,
	// end) and gives its sequence. The same msgID twice is stored once.
	Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (seq uint64, err error)
	// Sessions lists at most limit sessions that have events, newest first.
	Sessions(ctx context.Context, limit int) ([]SessionInfo, error)
	// Event reads one event of a session: events.ErrNotFound if it is not stored.
	Event(ctx context.Context, token string, seq uint64) (events.Record, error)
	// Blob reads a large value: events.ErrNotFound if it is not stored.
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
	// EventBounds gives the sequences of the first and last event of the log;
	// of an empty log first is last + 1.
	EventBounds(ctx context.Context) (first, last uint64, err error)
	// Ready says in words what does not work.
	Ready(ctx context.Context) error
	// MaxPayload is the largest input in bytes, headers included.
	MaxPayload() int
}

// SessionInfo is a line in the list of sessions.
type SessionInfo struct {
	Session string
	Last    time.Time // of its last event
	Open    int       // calls without a result
}
