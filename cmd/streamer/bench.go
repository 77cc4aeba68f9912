package main

import (
	"context"

	"streamer/internal/bench"
	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/server"
)

type benchCommand struct {
	Path benchPathCommand `cmd:"" default:"withargs" help:"Measure throughput, latency, memory and recovery; the default."`
	Tap  benchTapCommand  `cmd:"" help:"Measure the tap: latency per chunk, requests and memory, beside a bare proxy."`
	SSE  benchSSECommand  `cmd:"" name:"sse" help:"Measure event streams: memory, loss, and latency beside a bare fan-out."`
	Bare benchBareCommand `cmd:"" hidden:"" help:"Serve what bench tap and bench sse compare with."`
}

type benchSSECommand struct {
	bench.SSEOptions
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchSSECommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	return bench.Measured(std.out, i, c, c.JSON, func() (bench.Measurement, error) { return c.Measure(ctx) })
}

type benchTapCommand struct {
	bench.TapOptions
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchTapCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	return bench.Measured(std.out, i, c, c.JSON, func() (bench.Measurement, error) { return c.Measure(ctx) })
}

type benchBareCommand struct {
	Upstream string `arg:"" help:"URL of the upstream, or of the NATS server"`
}

func (c *benchBareCommand) Run(ctx context.Context, std stdio) error {
	return bench.ServeBare(ctx, c.Upstream, std.out)
}

type benchPathCommand struct {
	client.RemoteFlags
	bench.Options
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchPathCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	o := c.Options
	o.Broker = c.RemoteFlags.Options()
	return bench.Measured(std.out, i, &o, c.JSON, func() (bench.Measurement, error) {
		log, err := server.Logger(std.err, "warn", "text")
		if err != nil {
			return nil, err
		}
		r, err := bench.Run(ctx, std.err, log, o)
		return &r, err
	})
}
