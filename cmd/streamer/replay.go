package main

import (
	"context"
	"fmt"
	"time"

	"streamer/internal/app"
	"streamer/internal/broker"
)

const replayHelp = `Usage: streamer replay [flags] FILE

Publishes a recorded stream to a session: FILE, or standard input if FILE is -, as in
some-agent | streamer replay --session s -

Each line of JSON and each event of SSE text is published as soon as it is read, and a
line {"at":MS,"kind":KIND,"data":BODY} as the input that it states, MS milliseconds
after the beginning: KIND is delta, result, progress, interrupt or end. Inputs that
are rejected are printed, each reason once; exit status 3 if there are any. If no
streamer folds the inputs within --wait, this is printed, and the exit status is 0.

Flags:

`

func runReplay(ctx context.Context, std stdio, args []string) error {
	fs := flags("replay")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), replayHelp)
		fs.PrintDefaults()
	}
	var nats broker.Options
	natsFlags(fs, &nats)
	name := fs.String("session", "", "`session` to publish to; required")
	format := formatFlag(fs)
	follow := fs.Bool("follow", false, "wait for more when the end of FILE is reached, until the command is interrupted; a file that is truncated or replaced is read from its beginning")
	wait := fs.Duration("wait", 5*time.Second, "maximum time without events to wait for the fold of the inputs; if 0, they are only published")
	speed := speedFlag(fs, app.OwnSpeed, "; default 1 for a file, max for standard input and with --follow")
	files, err := parse(std, fs, args)
	switch {
	case err != nil:
		return err
	case len(files) != 1:
		return misused(std, fs, "got %d files: need one FILE, or - for standard input", len(files))
	case *follow && files[0] == "-":
		return misused(std, fs, "--follow: need a FILE; standard input is read as it comes without --follow")
	case *name == "":
		return misused(std, fs, "need --session")
	}
	token, err := tokenOf(std, fs, *name)
	if err != nil {
		return err
	}
	in, err := app.OpenReplay(ctx, std.in, files[0], *follow)
	if err != nil {
		return err
	}
	defer in.Close()
	b, err := app.Dial(ctx, nats)
	if err != nil {
		return err
	}
	defer b.Close()
	r := app.Replayer{Broker: b, Token: token, Format: *format, Speed: in.Speed(*speed)}
	done, err := r.Run(ctx, in, *wait, std.err)
	done.Print(std.out, std.err, *name)
	if err == nil && done.Rejected > 0 {
		err = exit(exitInput)
	}
	return err
}
