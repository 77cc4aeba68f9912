package main

import (
	"context"
	"fmt"

	"streamer/internal/app"
	"streamer/internal/broker"
)

func runRecover(ctx context.Context, std stdio, args []string) error {
	fs := flags("recover")
	var nats broker.Options
	natsFlags(fs, &nats)
	yes := fs.Bool("yes", false, "make the changes; without this flag they are only printed")
	if err := parseNoArgs(std, fs, args); err != nil {
		return err
	}
	b, err := app.Dial(ctx, nats)
	if err != nil {
		return err
	}
	defer b.Close()
	lost, err := app.Recover(ctx, std.out, b, *yes)
	switch {
	case err != nil:
		return err
	case !lost:
		fmt.Fprintln(std.out, "nothing was lost")
	case !*yes:
		fmt.Fprintln(std.out, "nothing was done; `streamer recover --yes` does it")
		return exit(exitFailed)
	}
	return nil
}
