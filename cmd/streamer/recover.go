package main

import (
	"context"
	"fmt"

	"streamer/internal/app"
)

type recoverCommand struct {
	app.NATSFlags
	Yes bool `help:"make the changes; without this flag they are only printed"`
}

// Run closes what lost inputs left open, or prints it.
func (c *recoverCommand) Run(ctx context.Context, std stdio) error {
	return app.WithBroker(ctx, c.Options(), func(b *app.Broker) error {
		lost, err := app.Recover(ctx, std.out, b, c.Yes, app.NewProgressLine(std.err))
		switch {
		case err != nil:
			return err
		case !lost:
			fmt.Fprintln(std.out, "nothing was lost")
		case !c.Yes:
			fmt.Fprintln(std.out, "nothing was done; `streamer recover --yes` does it")
			return exit(exitFailed)
		}
		return nil
	})
}
