package main

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
)

// perEvent is the time between two stream events at speed 1: models stream
// about 30 tokens a second.
const perEvent = 30 * time.Millisecond

func runReplay(ctx context.Context, std stdio, args []string) error {
	fs := flags("replay")
	var nats broker.Options
	natsFlags(fs, &nats)
	name := fs.String("session", "", "`session` to publish to; required")
	format := formatFlag(fs)
	speed := speedFlag(fs, "")
	files, err := parse(std, fs, args)
	switch {
	case err != nil:
		return err
	case len(files) != 1:
		return misused(std, fs, "got %d files: need one FILE, or - for standard input", len(files))
	case *name == "":
		return misused(std, fs, "need --session")
	}
	token, err := tokenOf(std, fs, *name)
	if err != nil {
		return err
	}
	in, err := openInput(std, files)
	if err != nil {
		return err
	}
	defer in.Close()
	b, err := app.Dial(ctx, nats)
	if err != nil {
		return err
	}
	defer b.Close()
	r := app.Replayer{Broker: b, Token: token, Format: *format}
	if *speed > 0 {
		r.Pause = perEvent / *speed
	}
	if err := r.Stream(ctx, in); err != nil {
		return err
	}
	what := "inputs"
	if r.Count() == 1 {
		what = "input"
	}
	fmt.Fprintf(std.out, "%d %s published to session %s\n", r.Count(), what, *name)
	return nil
}
