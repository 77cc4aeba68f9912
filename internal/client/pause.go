package client

import (
	"context"
	"fmt"
	"io"
	"time"
)

// pauseLook is the time before each look at the open calls. Processes refuse new sessions
// after a second.
const pauseLook = 2 * time.Second

// Drain refuses new sessions and waits, at most for the time limit, until no call is open.
// It writes how many are, and returns the number.
func (b *Broker) Drain(ctx context.Context, w io.Writer, limit time.Duration) (open int, err error) {
	if err := b.SetPaused(ctx, true); err != nil {
		return 0, err
	}
	fmt.Fprintln(w, "new sessions are refused until `streamer pause --end`")
	for end, shown := time.Now().Add(limit), 0; ; {
		if err := b.Pause(ctx, pauseLook); err != nil {
			return 0, err
		}
		sessions, err := b.OpenEvents(ctx)
		if err != nil {
			return 0, err
		}
		open = 0
		for _, s := range sessions {
			open += s.Calls
		}
		if open == 0 {
			fmt.Fprintln(w, "no call is open")
			return 0, nil
		}
		if open != shown {
			fmt.Fprintf(w, "open calls: %d\n", open)
			shown = open
		}
		if time.Now().After(end) {
			return open, nil
		}
	}
}
