package broker

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// subjectStored is where workers answer StoredTo; the partition follows.
const subjectStored = "_stored."

// storedWait is how long an answer of StoredTo may take: it needs no stream.
const storedWait = time.Second

// ServeStored answers StoredTo of all processes, for the partitions for which storedTo
// returns more than 0, until the connection is closed.
func (b *Broker) ServeStored(storedTo func(partition int) uint64) error {
	_, err := b.nc.Subscribe(subjectStored+"*", func(m *nats.Msg) {
		p, err := strconv.Atoi(strings.TrimPrefix(m.Subject, subjectStored))
		if err != nil || p < 0 || p >= b.partitions || !RepliesTo(m.Reply) {
			return
		}
		if seq := storedTo(p); seq > 0 {
			_ = m.Respond(strconv.AppendUint(nil, seq, 10)) // else it is asked for again
		}
	})
	return err
}

// StoredTo returns the sequence before which each input of a partition is folded and its
// events are stored. It is 0 if no worker answers: callers ask again.
func (b *Broker) StoredTo(ctx context.Context, partition int) (uint64, error) {
	limited, cancel := context.WithTimeout(ctx, storedWait)
	defer cancel()
	m, err := b.nc.RequestWithContext(limited, subjectStored+strconv.Itoa(partition), nil)
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.Is(err, nats.ErrConnectionClosed):
		return 0, ErrClosed
	case err != nil:
		return 0, nil
	}
	return strconv.ParseUint(string(m.Data), 10, 64)
}
