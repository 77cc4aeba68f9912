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

func (c *benchSSECommand) Run(ctx context.Context, std stdio, i *cli.Invocation) (err error) {
	if err := c.Check(); err != nil {
		return i.Misused("%v", err)
	}
	if c.Program, err = os.Executable(); err != nil {
		return err
	}
	r, err := bench.RunSSE(ctx, c.SSEOptions)
	if err != nil {
		return err
	}
	return printResult(std, &r, c.JSON)
}

type benchTapCommand struct {
	bench.TapOptions
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

// Run measures and prints the result.
func (c *benchTapCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) (err error) {
	if err := c.Check(); err != nil {
		return i.Misused("%v", err)
	}
	if c.Program, err = os.Executable(); err != nil {
		return err
	}
	r, err := bench.RunTap(ctx, c.TapOptions)
	if err != nil {
		return err
	}
	return printResult(std, &r, c.JSON)
}

type benchPathCommand struct {
	client.RemoteFlags
	bench.Options
	JSON bool `name:"json" help:"print one JSON object instead of a table"`
}

func (c *benchPathCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	o := c.Options
	o.Broker = c.RemoteFlags.Options()
	if err := o.Check(); err != nil {
		return i.Misused("%v", err)
	}
	log, err := server.Logger(std.err, "warn", "text")
	if err != nil {
		return err
	}
	r, err := bench.Run(ctx, std.err, log, o)
	if err != nil {
		return err
	}
	return printResult(std, &r, c.JSON)
}

func printResult(std stdio, r interface{ Print(w io.Writer) error }, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(std.out).Encode(r)
	}
	return r.Print(std.out)
}
