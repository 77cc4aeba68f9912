package main

import (
	"context"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/worker"
)

func runVerify(ctx context.Context, std stdio, args []string) error {
	fs := flags("verify")
	var nats broker.Options
	natsFlags(fs, &nats)
	sessions, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	var tokens []string
	for _, s := range sessions {
		token, err := tokenOf(std, fs, s)
		if err != nil {
			return err
		}
		tokens = append(tokens, token)
	}
	b, err := app.Dial(ctx, nats)
	if err != nil {
		return err
	}
	defer b.Close()
	line := app.NewProgressLine(std.err)
	v := worker.Verification{Log: b, Progress: func(p worker.Progress) { line.Show(p, time.Now()) }}
	r, err := v.Run(ctx, tokens...)
	line.Clear()
	if err != nil {
		return err
	}
	r.Print(std.out)
	if !r.Faultless() || len(r.Unknown) > 0 {
		return exit(exitFailed)
	}
	return nil
}
