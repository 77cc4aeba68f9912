package main

import (
	"context"
	"fmt"
	"io"

	"streamer/internal/worker"
)

// runRecover closes what lost inputs left open.
func runRecover(ctx context.Context, std stdio, args []string) error {
	fs := flags("recover")
	var n natsFlags
	n.register(fs)
	yes := fs.Bool("yes", false, "make the changes; without this flag they are only printed")
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
		printLoss(std.out, loss)
		if !*yes {
			continue
		}
		if err := worker.Mend(ctx, b, loss); err != nil {
			return err
		}
		fmt.Fprintf(std.out, "partition %d is recovered; its worker goes on within 10 s\n", loss.Partition)
	}
	if !*yes {
		fmt.Fprintln(std.out, "nothing was done; `streamer recover --yes` does it")
		return exit(exitFailed)
	}
	return nil
}

// printLoss prints what a recovery of the partition changes.
func printLoss(w io.Writer, loss worker.Loss) {
	if loss.First == 0 {
		fmt.Fprintf(w, "partition %d has %d sessions whose snapshots were lost and that cannot be folded again\n", loss.Partition, len(loss.Sessions))
	} else {
		fmt.Fprintf(w, "partition %d is folded up to input %d, the input log begins at %d: what is between is lost\n",
			loss.Partition, loss.Mark, loss.First)
	}
	for _, d := range loss.Sessions {
		fmt.Fprintf(w, "  session %s\n", d.Token)
		for _, c := range d.Calls {
			fmt.Fprintf(w, "    close call %s (%s, id %s) as lost\n", c.Call, c.ToolName, c.ID)
		}
		for _, m := range d.Muted {
			fmt.Fprintf(w, "    take nothing more of message %q\n", m.Message)
		}
		if d.Run != "" {
			fmt.Fprintf(w, "    end run %s\n", d.Run)
		}
	}
	if loss.First != 0 {
		fmt.Fprintf(w, "  go on at input %d\n", loss.First)
	}
}
