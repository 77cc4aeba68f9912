package broker

import (
	"context"
	"time"
)

// How long an answer that reports a loss is asked for again. A server that was
// cut off from the others answers for some seconds as if it still led them.
const (
	staleTime  = 5 * time.Second
	staleEvery = 250 * time.Millisecond
)

// Confirm asks until the answer is good, or staleTime is over: then the bad one
// holds. A stream without replicas has no outdated leader.
func Confirm(ctx context.Context, replicated bool, ask func() (good bool, err error)) error {
	for end := time.Now().Add(staleTime); ; {
		good, err := ask()
		if err != nil || good || !replicated || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(staleEvery):
		}
	}
}
