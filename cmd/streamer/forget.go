package main

import (
	"context"

	"streamer/internal/client"
)

type forgetCommand struct {
	Session session `arg:"" help:"session to erase"`
	client.NATSFlags
}

func (*forgetCommand) Help() string {
	return `Deletes the inputs, events, snapshots and large values of a session, and waits until they are gone. Large values that other sessions have stay. What is published to the session afterwards begins it anew. A command that failed or was interrupted can be repeated. Backups, archives and exports keep what they have.

Example:

  streamer forget chat-42`
}

func (c *forgetCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		return b.Forget(ctx, std.out, c.Session.name, c.Session.token)
	})
}
