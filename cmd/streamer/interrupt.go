package main

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/cli"
	"streamer/internal/client"
)

type interruptCommand struct {
	Session session `arg:"" help:"session whose calls are closed"`
	client.NATSFlags
	Call   []string      `placeholder:"ID" sep:"none" help:"call to close, by the provider's id or the call's own, such as 18.0; may be repeated; exit status 3 if it is not open; if empty, all open calls"`
	Reason string        `placeholder:"TEXT" help:"text of the reason"`
	Wait   time.Duration `placeholder:"DURATION" default:"10s" help:"maximum time to wait for the events of the interrupt; if 0, it is only published"`
}

func (*interruptCommand) Help() string {
	return `Examples:

  streamer interrupt chat-42
  streamer interrupt chat-42 --call call_abc --reason 'the user pressed stop'

A session whose requests go through a tap is stopped until streamer resume, or until a person writes to its agent.`
}

func (c *interruptCommand) Run(ctx context.Context, std stdio, inv *cli.Invocation) error {
	i := client.Interrupt{Calls: c.Call, Reason: c.Reason}
	if _, err := i.Body(); err != nil {
		return inv.Misused("invalid --call: %v", err)
	}
	b, err := client.Dial(ctx, c.Options())
	if err != nil {
		return err
	}
	defer b.Close()
	if c.Wait == 0 {
		seq, err := i.Publish(ctx, b, c.Session.token)
		if err == nil {
			fmt.Fprintf(std.out, "interrupt published to session %s as input %d\n", c.Session.name, seq)
		}
		return err
	}
	o, err := i.Run(ctx, b, c.Session.token, c.Wait)
	if err != nil {
		return err
	}
	o.Print(std.out, c.Session.name)
	for _, name := range o.Missing() {
		fmt.Fprintf(std.err, "streamer interrupt: session %s has no open call %s\n", c.Session.name, name)
		err = exit(exitInput)
	}
	return err
}

type resumeCommand struct {
	Session session `arg:"" help:"session that may go on"`
	client.NATSFlags
	By string `placeholder:"NAME" help:"name of the person that lifts the stop"`
}

func (*resumeCommand) Help() string {
	return `Lifts the stops of a session whose requests go through a tap: they reach the model again. A message of a person to the agent does the same.

  streamer resume chat-42`
}

func (c *resumeCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		seq, err := client.Resume(ctx, b, c.Session.token, c.By)
		if err == nil {
			fmt.Fprintf(std.out, "session %s may go on (input %d)\n", c.Session.name, seq)
		}
		return err
	})
}
