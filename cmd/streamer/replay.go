package main

import (
	"context"
	"time"

	"streamer/internal/cli"
	"streamer/internal/client"
)

type replayCommand struct {
	File string `arg:"" help:"recorded stream, or - for standard input"`
	client.NATSFlags
	Session session `required:"" placeholder:"SESSION" help:"session to publish to"`
	formatFlag
	Follow bool          `help:"wait for more at the end of FILE, until interrupted; a truncated or replaced file is read from its beginning"`
	Wait   time.Duration `placeholder:"DURATION" default:"10s" help:"maximum wait without events for the fold of the inputs; if 0, they are only published"`
	Speed  string        `placeholder:"SPEED" enum:",1,10,max" default:"" help:"1 (as recorded, or as models stream), 10 (times as fast) or max (without pauses); default 1 for a file, max for standard input and with --follow"`
}

func (*replayCommand) Help() string {
	return `Publishes a recorded stream to a session: a file, or standard input if it is -, as in

  some-agent | streamer replay --session s -

Each line of JSON and each event of SSE text is published as soon as it is read, and a line {"at":MS,"kind":KIND,"data":BODY} as the input that it states, MS milliseconds after the beginning: KIND is delta, result, progress, interrupt, answer or end. Inputs that are rejected are printed, each reason once; exit status 3 if there are any. An event that is cut at the end of FILE, and lines at its beginning that are no events of any format, are rejected when the end is reached. With --follow, and where the command is interrupted, this happens after 10 s, and is not waited for. If no streamer folds the inputs within --wait, this is printed, and the exit status is 0.`
}

func (c *replayCommand) Run(ctx context.Context, std stdio, i *cli.Invocation) error {
	if c.Follow && c.File == "-" {
		return i.Misused("--follow: need a FILE; standard input is read as it comes without --follow")
	}
	in, err := client.OpenReplay(ctx, std.in, c.File, c.Follow)
	if err != nil {
		return err
	}
	defer in.Close()
	b, err := client.Dial(ctx, c.Options())
	if err != nil {
		return err
	}
	defer b.Close()
	r := client.Replayer{Broker: b, Token: c.Session.token, Format: c.Format, Speed: in.Speed(client.SpeedOf(c.Speed))}
	done, err := r.Run(ctx, in, c.Wait, std.err)
	done.Print(std.out, std.err, c.Session.name)
	if err == nil && done.Rejected > 0 {
		err = exit(exitInput)
	}
	return err
}
