package sink

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"

	"github.com/nats-io/nats.go/jetstream"
)

// Again posts the event of each dead letter of the sink once more, oldest first, and removes
// the letters of those that are accepted. It returns how many these are and how many stay.
// Where the server does not answer, or is busy, it ends with an error.
func (s *Sink) Again(ctx context.Context) (accepted, left int, err error) {
	js, err := jetstream.New(s.broker.Conn())
	if err != nil {
		return 0, 0, fmt.Errorf("sink: %w", err)
	}
	dead, err := js.Stream(ctx, broker.StreamDead)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("sink: stream %s: %w", broker.StreamDead, err)
	}
	stored, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		return 0, 0, fmt.Errorf("sink: stream %s: %w", broker.StreamEvents, err)
	}
	err = letters(ctx, js, s.Name, func(seq uint64, d Dead) error {
		err := s.postAgain(ctx, stored, d)
		if errors.Is(err, errRefused) {
			left++
			return nil
		}
		if err == nil {
			accepted++
			if err = dead.DeleteMsg(ctx, seq); errors.Is(err, jetstream.ErrMsgNotFound) { // erased meanwhile
				err = nil
			}
		}
		if err != nil {
			return fmt.Errorf("sink: dead letter of event %d: %w", d.Seq, err)
		}
		return nil
	})
	return accepted, left, err
}

// postAgain posts the event of a dead letter. One that has expired counts as refused.
func (s *Sink) postAgain(ctx context.Context, stored jetstream.Stream, d Dead) error {
	m, err := stored.GetMsg(ctx, d.Seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return fmt.Errorf("%w: the event is no longer stored", errRefused)
	}
	if err != nil {
		return err
	}
	e, ok := parseEvent(m)
	if !ok || e.id != d.EventID || e.session != d.Session {
		return fmt.Errorf("%w: the event log has another event there", errRefused)
	}
	_, err = s.post(ctx, []event{e})
	return err
}
