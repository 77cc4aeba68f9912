package broker

import (
	"context"
	"time"

	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// Stored is one message of the event log.
type Stored struct {
	Seq     uint64
	Prev    uint64 // sequence of the session's event before it, 0 if it is the first
	Subject string
	Token   string
	Type    events.Type // Synthetic for a synthetic message
	ID      events.ID
	Call    string
	At      time.Time // when the server stored it
	Header  nats.Header
	Data    []byte

	linked bool // Prev is known
}

// ChainLast gives sequence and id of the last event of a session, as its
// stream's leader knows it; zeros if there is none.
func (b *Broker) ChainLast(ctx context.Context, token string) (seq uint64, id events.ID, err error) {
	return 0, events.ID{}, errTODO
}

// Event reads one event of a session by its sequence: ErrNotFound if there is
// none, or it is another session's.
func (b *Broker) Event(ctx context.Context, token string, seq uint64) (Stored, error) {
	return Stored{}, errTODO
}

// Events reads the events after sequence after, of one session or, with token
// "", of all, in order up to the log's present end. It returns fn's error or
// ctx's.
func (b *Broker) Events(ctx context.Context, token string, after uint64, fn func(Stored) error) error {
	return errTODO
}

// EventBounds gives the sequences of the first and the last event. In an empty
// log first is last + 1.
func (b *Broker) EventBounds(ctx context.Context) (first, last uint64, err error) {
	return 0, 0, errTODO
}
