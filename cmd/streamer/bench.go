package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"streamer/internal/app"
	"streamer/internal/bench"
	"streamer/internal/cli"
)

type benchCommand struct {
	Path benchPathCommand `cmd:"" default:"withargs" help:"Measure throughput, latency, memory and recovery beside the same work on NATS alone; the default."`
	SSE  benchSSECommand  `cmd:"" name:"sse" help:"Measure event streams: memory, latency, loss and replay."`
}

type benchSSECommand struct {
	bench.SSEOptions
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

// Run measures and prints the result.
func (c *benchSSECommand) Run(ctx context.Context, std stdio, i *cli.Invocation) (err error) {
	if err := c.Check(); err != nil {
		return i.Misused("%v", err)
	}
	if c.Program, err = os.Executable(); err != nil {
		return err
	}
	r, err := bench.RunSSE(ctx, std.err, c.SSEOptions)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(r)
	}
	return r.Print(std.out)
}

type benchPathCommand struct {
	app.RemoteFlags
	Inputs    int           `placeholder:"NUMBER" default:"600000" help:"number of deltas and results per measurement of throughput"`
	Call      int           `placeholder:"NUMBER" default:"100" help:"number of inputs per call, including its result"`
	Sessions  int           `placeholder:"NUMBER" default:"1000" help:"number of sessions that stream at once"`
	Open      int           `placeholder:"NUMBER" default:"5000" help:"number of sessions with an open call whose memory and recovery are measured"`
	Rounds    int           `placeholder:"NUMBER" default:"3" help:"number of measurements of each kind, in turns; the medians are printed"`
	Instances int           `placeholder:"NUMBER" default:"1" help:"number of processes of streamer serve to compare with one process; if 1, none"`
	Duration  time.Duration `placeholder:"DURATION" default:"5s" help:"time for which each latency is measured, at 1,000 deltas per second"`
	JSON      bool          `name:"json" help:"print one JSON object instead of a table"`
}

// Run measures and prints the result.
func (c *benchPathCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	o := bench.Options{
		Broker: c.Options(), Inputs: c.Inputs, PerCall: c.Call, Sessions: c.Sessions, Open: c.Open,
		Rounds: c.Rounds, Instances: c.Instances, Duration: c.Duration,
	}
	if err := o.Check(); err != nil {
		return i.Misused("%v", err)
	}
	log, err := app.Logger(std.err, "warn", "text")
	if err == nil {
		o.Program, err = os.Executable()
	}
	if err != nil {
		return err
	}
	r, err := bench.Run(ctx, std.err, log, o)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(std.out).Encode(r)
	}
	return r.Print(std.out)
}
