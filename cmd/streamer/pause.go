package main

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/client"
)

type pauseCommand struct {
	client.NATSFlags
	End  bool          `help:"new sessions are accepted again"`
	Wait time.Duration `placeholder:"DURATION" default:"15m" help:"maximum time until no call is open; exit status 1 if some are then"`
}

func (*pauseCommand) Help() string {
	return `Makes all processes refuse the first delta of new sessions over HTTP, and waits until no call is open: before maintenance. Sessions that exist go on. Inputs that are published over NATS are not refused.`
}

func (c *pauseCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		if c.End {
			return b.SetPaused(ctx, false)
		}
		open, err := b.Drain(ctx, std.out, c.Wait)
		if open > 0 {
			fmt.Fprintf(std.err, "streamer pause: open calls: %d\n", open)
			return exit(exitFailed)
		}
		return err
	})
}
