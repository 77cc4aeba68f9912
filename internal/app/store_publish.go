package app

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
)

// maxIDs bounds the message ids that are tried for one input.
const maxIDs = 8

// errIDsUsed is the error for an input whose message ids are all in use.
var errIDsUsed = errors.New("messages of other sessions or kinds have the input's Nats-Msg-Id")

// Publish stores an input and returns its sequence. It waits until inputs are
// accepted.
//
// All publishers of the stream share the message ids: the server treats an input
// as a repetition of any message with its id, even on the subject of another
// session. Publish then adds the sequence of that message to the id and tries
// again. A repeated request arrives at the same id.
func (s store) Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (uint64, error) {
	select {
	case <-s.opened:
	case <-ctx.Done():
		return 0, gateway.ErrNotOpen
	}
	for range maxIDs {
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
	return 0, fmt.Errorf("%w: %.80q", errIDsUsed, msgID)
}

// refused adds the error of package gateway for an error of the broker.
func refused(err error) error {
	switch {
	case errors.Is(err, broker.ErrTooLarge):
		return errors.Join(gateway.ErrTooLarge, err)
	case errors.Is(err, broker.ErrFull):
		return errors.Join(gateway.ErrFull, err)
	}
	return err
}
