package main

import (
	"context"

	"streamer/internal/app"
	"streamer/internal/cli"
	"streamer/internal/demo"
)

// demoTools is the result timeout of the tools that return no result.
const demoTools = "slow_*=6s"

type demoCommand struct {
	app.ServerFlags
	Once  bool   `help:"end when everything is played and every call is closed"`
	Speed string `placeholder:"SPEED" enum:"1,10,max" default:"1" help:"1 (as models stream), 10 (times as fast) or max (without pauses); deadlines stay the same"`
}

// Help returns what the demo shows.
func (*demoCommand) Help() string {
	return `Runs what serve runs, on an embedded NATS server, and plays recorded sessions. Open the page whose address it prints. The sessions show:

` + demo.Contents + `
Each start plays into new sessions. Deadlines are short, so that all of them pass within the demo. Without --tool-timeout it is ` + demoTools + `.`
}

// Run plays the recorded sessions.
func (c *demoCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if len(c.ToolTimeout) == 0 {
		var t app.ToolTimeout
		if err := t.UnmarshalText([]byte(demoTools)); err != nil {
			return err
		}
		c.ToolTimeout = append(c.ToolTimeout, t)
	}
	s, err := openServer(ctx, std, &c.ServerFlags, i)
	if err != nil {
		return err
	}
	defer s.Close()
	return demo.Run(ctx, std.out, s, demo.Options{Speed: speedOf(c.Speed), Once: c.Once})
}
