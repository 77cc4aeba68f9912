package main

import (
	"cmp"
	"context"
	"io"
	"time"

	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/inspect"
	"streamer/internal/server"
)

type jsonFlag struct {
	JSON bool `name:"json" help:"print lines of JSON"`
}

func (f jsonFlag) output(w io.Writer) inspect.Output {
	return inspect.Output{W: w, Paint: cli.NewPaint(w), JSON: f.JSON}
}

type sessionsCommand struct {
	client.NATSFlags
	jsonFlag
	Limit int `placeholder:"NUMBER" default:"100" help:"maximum number of sessions"`
}

func (c *sessionsCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		return inspect.Sessions(ctx, b, c.output(std.out), c.Limit, time.Now())
	})
}

type callsCommand struct {
	Session session `arg:"" help:"session whose calls are printed"`
	client.NATSFlags
	jsonFlag
}

func (c *callsCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		return inspect.WriteCalls(ctx, b, c.output(std.out), c.Session.name, time.Now())
	})
}

type eventsCommand struct {
	Session session `arg:"" optional:"" help:"session whose events are printed; optional with --from"`
	client.NATSFlags
	jsonFlag
	From string   `placeholder:"PLACE" help:"directory or s3://bucket/prefix of streamer archive, or one file with events, to read instead of the event log"`
	Type []string `placeholder:"TYPE" words:"events" help:"only events of this type, such as tool_call_result; may be repeated"`
}

func (c *eventsCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	switch {
	case c.From != "":
		return inspect.WriteArchived(ctx, c.From, c.output(std.out), c.Session.name, c.Type)
	case c.Session.name == "":
		return i.Misused("need a session, or --from")
	}
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		return inspect.WriteEvents(ctx, b, c.output(std.out), c.Session.name, c.Type)
	})
}

type exportCommand struct {
	Session session `arg:"" help:"session to export"`
	client.NATSFlags
	Output string `placeholder:"FILE" help:"file to write; standard output if absent"`
	Values bool   `help:"write large args and results into the events, instead of references to them"`
}

func (*exportCommand) Help() string {
	return `The file has a line of JSON for each stored event. The page opens it when it is dropped there.

Example:

  streamer export chat-42 --values --output chat-42.jsonl`
}

func (c *exportCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		if c.Output == "" {
			_, err := inspect.Export(ctx, b, std.out, c.Session.name, c.Values, client.NewProgressLine(std.err))
			return err
		}
		return inspect.ExportFile(ctx, b, c.Output, c.Session.name, c.Values, std.err)
	})
}

type tailCommand struct {
	Session session `arg:"" optional:"" help:"session to follow; all sessions if absent"`
	client.NATSFlags
	jsonFlag
}

func (*tailCommand) Help() string {
	return `Follows calls until it is interrupted. On a terminal the open calls are drawn with bars: args, waiting for a person, running. Elsewhere each change of a call is a line, and with --json each new event is a line, as it is stored.`
}

func (c *tailCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		err := inspect.Tail(ctx, b, c.output(std.out), c.Session.name)
		if ctx.Err() != nil {
			return nil // it was interrupted
		}
		return err
	})
}

type sinksCommand struct {
	Name string `arg:"" optional:"" help:"sink whose dead letters are printed; if absent, the sinks"`
	client.NATSFlags
	jsonFlag
	Again bool `help:"deliver the dead letters of the sink once more, and remove those that are accepted; needs the flags of the sink"`
	server.SinkFlags
}

func (c *sinksCommand) Run(ctx context.Context, std stdio) error {
	return client.WithBroker(ctx, c.Options(), func(b *client.Broker) error {
		if c.Again {
			c.SinkName = cmp.Or(c.Name, c.SinkName)
			return inspect.Redeliver(ctx, b, std.out, &c.SinkFlags)
		}
		return inspect.Sinks(ctx, b, c.output(std.out), c.Name)
	})
}

type doctorCommand struct {
	client.NATSFlags
	JSON bool   `name:"json" help:"print one JSON array"`
	Role string `placeholder:"ROLE" enum:"streamer,agent,frontend,subscriber" default:"streamer" help:"user to check, with its credentials: streamer, agent, frontend or subscriber; nothing is stored"`
}

func (c *doctorCommand) Run(ctx context.Context, std stdio) error {
	list, err := inspect.Check(ctx, c.Options(), c.Role)
	if err != nil {
		return err
	}
	if err := list.Write(jsonFlag{c.JSON}.output(std.out)); err != nil {
		return err
	}
	if !list.Healthy() {
		return exit(exitFailed)
	}
	return nil
}
