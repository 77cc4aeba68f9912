package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"streamer/internal/bench"
	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/server"
)

type benchCommand struct {
	Path benchPathCommand `cmd:"" default:"withargs" help:"Measure throughput, latency, memory and recovery; the default."`
	Tap  benchTapCommand  `cmd:"" help:"Measure the tap: latency per chunk, requests and memory, beside a bare proxy."`
	SSE  benchSSECommand  `cmd:"" name:"sse" help:"Measure event streams: memory, latency and loss."`
}

type benchSSECommand struct {
	bench.SSEOptions
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchSSECommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	return measured(std, i, c.Check(), c.JSON, func(program string) (result, error) {
		c.Program = program
		r, err := bench.RunSSE(ctx, c.SSEOptions)
		return &r, err
	})
}

type benchTapCommand struct {
	bench.TapOptions
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchTapCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	return measured(std, i, c.Check(), c.JSON, func(program string) (result, error) {
		c.Program = program
		r, err := bench.RunTap(ctx, c.TapOptions)
		return &r, err
	})
}

type benchPathCommand struct {
	client.RemoteFlags
	bench.Options
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchPathCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	o := c.Options
	o.Broker = c.RemoteFlags.Options()
	return measured(std, i, o.Check(), c.JSON, func(string) (result, error) {
		log, err := server.Logger(std.err, "warn", "text")
		if err != nil {
			return nil, err
		}
		r, err := bench.Run(ctx, std.err, log, o)
		return &r, err
	})
}

type result interface{ Print(w io.Writer) error }

// measured prints what a measurement by this program returns.
func measured(std stdio, i *cli.Invocation, invalid error, asJSON bool, measure func(program string) (result, error)) error {
	if invalid != nil {
		return i.Misused("%v", invalid)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	r, err := measure(program)
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(std.out).Encode(r)
	}
	return r.Print(std.out)
}
