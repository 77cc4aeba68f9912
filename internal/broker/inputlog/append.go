package inputlog

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

const maxTaken = 8

var errTaken = errors.New("messages of other sessions or kinds bear the input's Nats-Msg-Id")

// Append stores an input as a client publishes it and returns its sequence. The
// same msgID twice is stored once. It returns inputs.ErrTooLarge or
// inputs.ErrFull where the log refuses the input.
//
// Message ids are one space for all publishers of the stream: the server treats
// an input as a repetition of any message with its id, also of one on another
// session's subject. Such an input is stored under the id with the sequence of
// that message added, which is the same id when the same request is repeated.
func (l *Log) Append(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (uint64, error) {
	for range maxTaken {
		p := l.InputPub(token, kind, msgID, header, data)
		p.RefuseFull = true
		a := l.b.PublishWait(ctx, p)
		if a.Err != nil || !a.Duplicate {
			return a.Seq, refused(a.Err)
		}
		switch same, err := l.isInput(ctx, a.Seq, token, kind); {
		case err != nil:
			return 0, err
		case same:
			return a.Seq, nil
		}
		msgID = fmt.Sprintf("%s~%d", msgID, a.Seq)
	}
	return 0, fmt.Errorf("%w: %.80q", errTaken, msgID)
}

func refused(err error) error {
	switch {
	case errors.Is(err, broker.ErrTooLarge):
		return errors.Join(inputs.ErrTooLarge, err)
	case errors.Is(err, broker.ErrFull):
		return errors.Join(inputs.ErrFull, err)
	}
	return err
}

// isInput reports whether the message at a sequence of the log is an input of a
// session and kind. It reports true where the message is gone: it was read then.
func (l *Log) isInput(ctx context.Context, seq uint64, token string, kind inputs.Kind) (bool, error) {
	m, err := l.b.MessageAt(ctx, broker.StreamInputs, seq)
	if err != nil || m == nil {
		return err == nil, err
	}
	return m.Subject == partitionRoot(l.b.Partition(token))+token+"."+string(kind), nil
}
