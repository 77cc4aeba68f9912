package sink

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go/jetstream"
)

// Again posts the selected events of the dead letters of the sink once more, oldest first,
// and removes the letters of those that are accepted. It returns how many these are, and how
// many were refused or have expired. If the server does not answer or is busy, it ends with
// an error.
func (s *Sink) Again(ctx context.Context) (accepted, left int, err error) {
	js, err := jetstream.New(s.broker.Conn())
	if err != nil {
		return 0, 0, fmt.Errorf("sink: %w", err)
	}
	err = Letters(ctx, s.broker, s.Name, func(seq uint64, d Dead) error {
		err := s.postAgain(ctx, js, d, seq)
		switch {
		case errors.Is(err, errRefused), errors.Is(err, jetstream.ErrMsgNotFound):
			left++
		case err != nil:
			return fmt.Errorf("sink: dead letter of event %d: %w", d.Seq, err)
		default:
			accepted++
		}
		return nil
	})
	return accepted, left, err
}

func (s *Sink) postAgain(ctx context.Context, js jetstream.JetStream, d Dead, letter uint64) error {
	stored, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		return err
	}
	m, err := stored.GetMsg(ctx, d.Seq)
	if err != nil {
		return err
	}
	e, ok := s.event(m)
	if !ok || e.id != d.EventID {
		return errRefused // it is not selected
	}
	if _, err := s.post(ctx, []event{e}); err != nil {
		return err
	}
	dead, err := js.Stream(ctx, broker.StreamDead)
	if err != nil {
		return err
	}
	return dead.DeleteMsg(ctx, letter)
}
