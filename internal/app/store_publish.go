package app

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
)

// maxTaken bounds the ids that are tried for one input.
const maxTaken = 8

// errTaken is an input whose message ids have all been used by others.
var errTaken = errors.New("messages of other sessions or kinds bear the input's Nats-Msg-Id")

// Publish is gateway.Store's. Message ids are one space for all publishers of
// the stream: the server takes an input for a repetition of whatever message
// bears its id, also one on another session's subject. Such an input is stored
// under the id with the sequence of that message added, which is the same id
// for the same request again. An input that comes before inputs are taken waits.
func (s store) Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (uint64, error) {
	select {
	case <-s.opened:
	case <-ctx.Done():
		return 0, gateway.ErrNotOpen
	}
	for range maxTaken {
		p := s.InputPub(token, kind, msgID, header, data)
		p.RefuseFull = true
		a := s.PublishWait(ctx, p)
		if a.Err != nil || !a.Duplicate {
			return a.Seq, refused(a.Err)
		}
		switch own, err := s.IsInput(ctx, a.Seq, token, kind); {
		case err != nil:
			return 0, err
		case own:
			return a.Seq, nil
		}
		msgID = fmt.Sprintf("%s~%d", msgID, a.Seq)
	}
	return 0, fmt.Errorf("%w: %.80q", errTaken, msgID)
}

// refused returns err as the gateway knows it.
func refused(err error) error {
	switch {
	case errors.Is(err, broker.ErrTooLarge):
		return errors.Join(gateway.ErrTooLarge, err)
	case errors.Is(err, broker.ErrFull):
		return errors.Join(gateway.ErrFull, err)
	}
	return err
}
