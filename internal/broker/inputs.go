package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Input is one message of the input log.
type Input struct {
	Seq       uint64
	At        time.Time // when the server stored it
	Token     string    // of the session, as it came; "" for KindRules
	Kind      string    // "" if the subject is none of the contract's
	Partition int
	// Foreign tells that the message is in a partition its token does not
	// belong to, or on no subject of the contract: skip and count it.
	Foreign bool
	Subject string
	Header  nats.Header
	Data    []byte
}

// InputLostError says that inputs from From on are no longer in the stream,
// whose first is First.
type InputLostError struct {
	From, First uint64
}

// Error says what is lost.
func (e *InputLostError) Error() string {
	return fmt.Sprintf("broker: inputs from %d on are wanted, but the stream begins at %d", e.From, e.First)
}

// Inputs reads the inputs of a partition in stream order, without gap or
// duplicate, from sequence from (at least 1) on and then for ever, through
// restarts of the server.
//
// deliver gets what is waiting, at most 500 inputs, without delay; the slice
// is reused after it returns, the messages are not. next is a position:
// every input of this partition below it has been delivered. It can be ahead
// of the last input, because other partitions share the stream, and moves on
// now and then (with an empty batch) where the partition is idle. caughtUp
// tells that nothing more was waiting at the server after this batch; a
// stream that is read to its end at the start is told with an empty batch.
//
// Inputs returns ctx's error, deliver's, or an *InputLostError where the
// position is below the stream's first message.
func (b *Broker) Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []Input, next uint64, caughtUp bool) error) error {
	return errTODO
}

// InputBounds gives the sequences of the first and the last input. In an
// empty stream first is last + 1.
func (b *Broker) InputBounds(ctx context.Context) (first, last uint64, err error) {
	return 0, 0, errTODO
}
