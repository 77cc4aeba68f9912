package rewind

import (
	"context"
	"fmt"

	"streamer/internal/broker"
)

// Appender appends probes to an input log.
type Appender interface {
	Log
	ProbePub() *broker.Pub
	Publish(p *broker.Pub, acks chan<- broker.Ack)
}

// padsAtOnce is the number of probes that are under way at once.
const padsAtOnce = 256

// Pad appends probes to the log until it has at least need messages, so that the
// sequences of lost inputs are not assigned again. Several may do so at the same time.
func Pad(ctx context.Context, log Appender, need uint64) error {
	acks := make(chan broker.Ack, padsAtOnce)
	for {
		_, last, err := log.InputBounds(ctx)
		if err != nil || last >= need {
			return err
		}
		n := min(need-last, padsAtOnce)
		for range n {
			log.Publish(log.ProbePub(), acks)
		}
		for range n {
			select {
			case a := <-acks:
				if a.Err != nil {
					return fmt.Errorf("rewind: padding the input log: %w", a.Err)
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
