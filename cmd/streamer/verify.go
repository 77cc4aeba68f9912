package main

import (
	"context"
	"time"

	"streamer/internal/audit"
	"streamer/internal/client"
)

type verifyCommand struct {
	Session []session `arg:"" optional:"" help:"sessions to verify; all if absent"`
	client.NATSFlags
}

func (c *verifyCommand) Run(ctx context.Context, std stdio) error {
	var tokens []string
	for _, s := range c.Session {
		tokens = append(tokens, s.token)
	}
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		line := client.NewProgressLine(std.err)
		v := audit.Verification{Log: b, Progress: func(p audit.Progress) { line.Show(p, time.Now()) }}
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
