package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"streamer/internal/app"
	"streamer/internal/bench"
)

func runBench(ctx context.Context, std stdio, args []string) error {
	if len(args) > 0 && args[0] == "sse" {
		fs := flags("bench")
		o := bench.SSEFlags(fs)
		if err := parseNoArgs(std, fs, args[1:]); err != nil {
			return err
		}
		return bench.SSE(ctx, std.out, std.err, o)
	}
	fs := flags("bench")
	var o bench.Options
	remoteFlags(fs, &o.Broker)
	fs.IntVar(&o.Inputs, "inputs", 600_000, "`number` of deltas and results per measurement of throughput")
	fs.IntVar(&o.PerCall, "call", 100, "`number` of inputs per call, including its result")
	fs.IntVar(&o.Sessions, "sessions", 1_000, "`number` of sessions that stream at once")
	fs.IntVar(&o.Open, "open", 5_000, "`number` of sessions with an open call whose memory and recovery are measured")
	fs.IntVar(&o.Rounds, "rounds", 3, "`number` of measurements of each kind, in turns; the medians are printed")
	fs.IntVar(&o.Instances, "instances", 1, "`number` of processes of streamer serve to compare with one process; if 1, none")
	fs.DurationVar(&o.Duration, "duration", 5*time.Second, "time for which each latency is measured, at 1,000 deltas per second")
	asJSON := fs.Bool("json", false, "print one JSON object instead of a table")
	if err := parseNoArgs(std, fs, args); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return misused(std, fs, "%v", err)
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
	if *asJSON {
		return json.NewEncoder(std.out).Encode(r)
	}
	return r.Print(std.out)
}
