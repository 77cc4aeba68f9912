package main

import (
	"context"

	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/demo"
	"streamer/internal/server"
)

// demoTools is the result timeout of the tools that return no result.
const demoTools = "slow_*=6s"

type demoCommand struct {
	server.Flags
	Once  bool   `help:"begin without a viewer, and end when everything is played and every call is closed"`
	Loop  bool   `help:"play a session again as long as its page is open"`
	Speed string `placeholder:"SPEED" enum:"1,10,max" default:"1" help:"1 (as models stream), 10 (times as fast) or max (without pauses); deadlines stay the same"`
}

func (*demoCommand) Help() string {
	return `Runs what serve runs, on an embedded NATS server, and plays six recorded sessions. Each begins when its page is open, and all begin with Enter. The sessions show:

` + demo.Contents + `
Each start plays into new sessions, in the data directory that serve uses too. Deadlines are short, so that all of them pass within the demo. Without --tool-timeout it is ` + demoTools + `.`
}

func (c *demoCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if len(c.ToolTimeout) == 0 {
		var t server.PatternTime
		if err := t.UnmarshalText([]byte(demoTools)); err != nil {
			return err
		}
		c.ToolTimeout = append(c.ToolTimeout, t)
	}
	if c.HTTPListen == "" || len(c.Roles) < 2 {
		return i.Misused("need --http-listen and both --roles, because the page shows the sessions")
	}
	if c.Once && c.Loop {
		return i.Misused("--once and --loop exclude each other")
	}
	s, err := openServer(ctx, std, &c.Flags, i)
	if err != nil {
		return err
	}
	defer s.Close()
	return demo.Run(ctx, std.out, s, demo.Options{Speed: client.SpeedOf(c.Speed), Once: c.Once, Loop: c.Loop, Key: demo.Enter(std.in)})
}
