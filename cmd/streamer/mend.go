package main

import (
	"context"
	"fmt"

	"streamer/internal/worker"
)

func mend(ctx context.Context, std stdio, args []string) error {
	fs := flags("mend")
	var n natsFlags
	n.register(fs)
	yes := fs.Bool("yes", false, "do it; without this flag, only say what would be done")
	rest, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return misused(std, fs, "there is no argument %q", rest[0])
	}
	b, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer b.Close()
	losses, err := worker.Losses(ctx, b)
	if err != nil {
		return err
	}
	if len(losses) == 0 {
		fmt.Fprintln(std.out, "nothing was lost")
		return nil
	}
	for _, loss := range losses {
		tell(std, loss)
		if !*yes {
			continue
		}
		if err := worker.Recover(ctx, b, loss); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "partition %d is mended; its worker goes on within 10 s\n", loss.Partition)
	}
	if !*yes {
		fmt.Fprintln(std.out, "nothing was done; `streamer mend --yes` does it")
		return exit(exitFailed)
	}
	return nil
}

// tell says what mending would do.
func tell(std stdio, loss worker.Loss) {
	if loss.First == 0 {
		fmt.Fprintf(std.out, "partition %d has %d sessions whose snapshots were lost and that cannot be folded again\n", loss.Partition, len(loss.Sessions))
	} else {
		fmt.Fprintf(std.out, "partition %d is folded up to input %d, the input log begins at %d: what is between is lost\n",
			loss.Partition, loss.Checkpoint, loss.First)
	}
	for _, d := range loss.Sessions {
		fmt.Fprintf(std.out, "  session %s\n", d.Token)
		for _, c := range d.Open.Calls() {
			fmt.Fprintf(std.out, "    close call %s (%s, id %s) as lost\n", c.Start.Call, c.Start.ToolName, c.Start.ID)
		}
		for _, m := range d.Open.Building() {
			fmt.Fprintf(std.out, "    take nothing more of message %q\n", m.MessageID)
		}
		if d.Open.Run != "" {
			fmt.Fprintf(std.out, "    end run %s\n", d.Open.Run)
		}
	}
	if loss.First != 0 {
		fmt.Fprintf(std.out, "  go on at input %d\n", loss.First)
	}
}
