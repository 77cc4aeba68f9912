package main

import (
	"context"
	"time"

	"streamer/internal/app"
	"streamer/internal/cli"
	"streamer/internal/worker"
)

type verifyCommand struct {
	Session []string `arg:"" optional:"" help:"sessions to verify; all if absent"`
	app.NATSFlags
}

// Run verifies the sessions and prints the differences.
func (c *verifyCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	var tokens []string
	for _, s := range c.Session {
		token, err := tokenOf(i, s)
		if err != nil {
			return err
		}
		tokens = append(tokens, token)
	}
	return withLogs(ctx, c.Options(), func(b *app.Broker) error {
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
	})
}
