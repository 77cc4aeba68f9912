package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"streamer/internal/audit"
)

// Recover closes the calls and runs that lost inputs left open, if change is
// set. It prints to w what it changes, or would change, and reports whether
// inputs were lost. line shows the progress.
func Recover(ctx context.Context, w io.Writer, b *Broker, change bool, line *ProgressLine) (lost bool, err error) {
	losses, err := audit.Losses(ctx, b, func(p audit.Progress) { line.Show(p, time.Now()) })
	line.Clear()
	if err != nil {
		return false, err
	}
	for _, loss := range losses {
		printLoss(w, loss)
		if !change {
			continue
		}
		if err := audit.Recover(ctx, b, loss); err != nil {
			return true, err
		}
		fmt.Fprintf(w, "partition %d is recovered; its worker goes on within 10 s\n", loss.Partition)
	}
	return len(losses) > 0, nil
}

func printLoss(w io.Writer, loss audit.Loss) {
	if loss.First == 0 {
		fmt.Fprintf(w, "partition %d has %d sessions whose snapshots were lost and that cannot be folded again\n", loss.Partition, len(loss.Sessions))
	} else {
		fmt.Fprintf(w, "partition %d is folded up to input %d, the input log begins at %d: what is between is lost\n",
			loss.Partition, loss.Checkpoint, loss.First)
	}
	for _, d := range loss.Sessions {
		fmt.Fprintf(w, "  session %s\n", d.Token)
		for _, c := range d.Open.Calls() {
			fmt.Fprintf(w, "    close call %s (%s, id %s) as lost\n", c.Start.Call, c.Start.ToolName, c.Start.ID)
		}
		for _, m := range d.Open.Building() {
			fmt.Fprintf(w, "    take nothing more of message %q\n", m.MessageID)
		}
		if d.Open.Run != "" {
			fmt.Fprintf(w, "    end run %s\n", d.Open.Run)
		}
	}
	if loss.First != 0 {
		fmt.Fprintf(w, "  go on at input %d\n", loss.First)
	}
}
