package main

import (
	"context"
	"fmt"

	"streamer/internal/client"
)

type recoverCommand struct {
	client.NATSFlags
	Yes bool `help:"make the changes; without this flag they are only printed"`
}

func (c *recoverCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		lost, err := client.Recover(ctx, std.out, b, c.Yes, client.NewProgressLine(std.err))
		switch {
		case err != nil:
			return err
		case !lost:
			fmt.Fprintln(std.out, "nothing to recover")
		case !c.Yes:
			fmt.Fprintln(std.out, "nothing was done; `streamer recover --yes` does it")
			return exit(exitFailed)
		}
		return nil
	})
}
