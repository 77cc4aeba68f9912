package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/cli"
	"streamer/internal/inspect"
)

type jsonFlag struct {
	JSON bool `name:"json" help:"print lines of JSON"`
}

func (f jsonFlag) output(w io.Writer) inspect.Output {
	return inspect.Output{W: w, Paint: cli.NewPaint(w), JSON: f.JSON}
}

// withLogs calls fn with the logs of a running streamer.
func withLogs(ctx context.Context, o broker.Options, fn func(b *app.Broker) error) error {
	b, err := app.Dial(ctx, o)
	if err != nil {
		return err
	}
	defer b.Close()
	return fn(b)
}

type sessionsCommand struct {
	app.NATSFlags
	jsonFlag
	Limit int `placeholder:"NUMBER" default:"100" help:"maximum number of sessions"`
}

// Run prints the sessions.
func (c *sessionsCommand) Run(ctx context.Context, std stdio) error {
	return withLogs(ctx, c.Options(), func(b *app.Broker) error {
		return inspect.Sessions(ctx, b, c.output(std.out), c.Limit, time.Now())
	})
}

type callsCommand struct {
	Session string `arg:"" help:"session whose calls are printed"`
	app.NATSFlags
	jsonFlag
}

// Run prints the calls of a session.
func (c *callsCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if _, err := tokenOf(i, c.Session); err != nil {
		return err
	}
	return withLogs(ctx, c.Options(), func(b *app.Broker) error {
		return inspect.WriteCalls(ctx, b, c.output(std.out), c.Session, time.Now())
	})
}

type eventsCommand struct {
	Session string `arg:"" help:"session whose events are printed"`
	app.NATSFlags
	jsonFlag
	Type []string `placeholder:"TYPE" words:"events" help:"only events of this type, such as tool_call_result; may be repeated"`
}

// Run prints the stored events of a session.
func (c *eventsCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if _, err := tokenOf(i, c.Session); err != nil {
		return err
	}
	return withLogs(ctx, c.Options(), func(b *app.Broker) error {
		return inspect.WriteEvents(ctx, b, c.output(std.out), c.Session, c.Type)
	})
}

type exportCommand struct {
	Session string `arg:"" help:"session to export"`
	app.NATSFlags
	Output string `placeholder:"FILE" help:"file to write; standard output if absent"`
	Values bool   `help:"write large args and results into the events, instead of references to them"`
}

// Help returns the use of the file.
func (*exportCommand) Help() string {
	return `The file has a line of JSON for each stored event. The page opens it when it is dropped there.

Example:

  streamer export chat-42 --values --output chat-42.jsonl`
}

// Run writes the events of a session.
func (c *exportCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if _, err := tokenOf(i, c.Session); err != nil {
		return err
	}
	return withLogs(ctx, c.Options(), func(b *app.Broker) error {
		if c.Output == "" {
			_, err := inspect.Export(ctx, b, std.out, c.Session, c.Values)
			return err
		}
		file, err := os.OpenFile(c.Output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		n, err := inspect.Export(ctx, b, file, c.Session, c.Values)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err == nil {
			fmt.Fprintf(std.err, "%d events of session %s are in %s\n", n, c.Session, c.Output)
		}
		return err
	})
}

type tailCommand struct {
	Session string `arg:"" optional:"" help:"session to follow; all sessions if absent"`
	app.NATSFlags
	jsonFlag
}

// Help returns the details.
func (*tailCommand) Help() string {
	return `Follows calls until it is interrupted. On a terminal the open calls are drawn with bars: args, waiting for a person, running. Elsewhere each change of a call is a line, and with --json each new event is a line, as it is stored.`
}

// Run follows calls until ctx ends.
func (c *tailCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if c.Session != "" {
		if _, err := tokenOf(i, c.Session); err != nil {
			return err
		}
	}
	return withLogs(ctx, c.Options(), func(b *app.Broker) error {
		err := inspect.Tail(ctx, b, c.output(std.out), c.Session)
		if ctx.Err() != nil {
			return nil // it was interrupted
		}
		return err
	})
}

type doctorCommand struct {
	app.NATSFlags
	JSON bool   `name:"json" help:"print one JSON array"`
	Role string `placeholder:"ROLE" enum:"streamer,agent,frontend,subscriber" default:"streamer" help:"user whose permissions are checked, with its credentials: streamer, which changes nothing, or agent, frontend or subscriber; agent and frontend publish an interrupt of the session streamer-doctor and wait for its event"`
}

// Run prints what is wrong, and how to fix it.
func (c *doctorCommand) Run(ctx context.Context, std stdio) error {
	var list inspect.Findings
	if o := c.Options(); c.Role == "streamer" {
		list = inspect.Diagnose(ctx, o)
	} else {
		if err := app.LocateClient(&o); err != nil {
			return err
		}
		list = inspect.Probe(ctx, o, c.Role)
	}
	if err := list.Write(jsonFlag{c.JSON}.output(std.out)); err != nil {
		return err
	}
	if !list.Healthy() {
		return exit(exitFailed)
	}
	return nil
}
