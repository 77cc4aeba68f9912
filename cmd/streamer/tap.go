package main

import (
	"context"
	"time"

	"streamer/internal/cli"
	"streamer/internal/server"
	"streamer/internal/wrap"
)

type tapCommand struct {
	server.Flags
	StopGrace time.Duration `default:"10s" help:"time in which the command must end by itself after its session was stopped; then it and what it started get signals; if 0, they get none; a command on a terminal may wait for its next message"`
	Command   []string      `arg:"" passthrough:"" help:"command of an agent, and its arguments"`
}

func (*tapCommand) Help() string {
	return `Examples:

  streamer tap -- claude
  streamer tap -- python agent.py
  streamer tap --tap openai=http://localhost:8000 -- codex

Runs a command whose requests to models go through a tap, and shows its calls on the page. The command finds the tap by its variables, such as OPENAI_BASE_URL and ANTHROPIC_BASE_URL, or by arguments; docs/tap.md lists them by client. Where these variables name a server, that is where the requests go; otherwise to the vendors. The tap publishes to the streamer that runs, or starts one for the time of the command. When the command ends, its open calls are closed, and a summary is printed. The exit status is that of the command.`
}

func (c *tapCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) == 0 {
		return i.Misused("need a command, such as streamer tap -- claude")
	}
	status, err := wrap.Run(ctx, wrap.Options{Command: c.Command, Flags: c.Flags, Grace: c.StopGrace, Given: i.Given, In: std.in, Out: std.out, Err: std.err})
	if err == nil && status != 0 {
		err = exit(status)
	}
	return err
}
