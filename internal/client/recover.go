package client

import (
	"context"
	"fmt"
	"io"
	"time"

	"streamer/internal/audit"
	"streamer/internal/rewind"
)

// Recover repairs an input log that lost its end, and closes the calls and runs that lost
// inputs left open, if change is set. It prints to w what it changes, or would change, and
// reports whether inputs were lost. line shows the progress.
func Recover(ctx context.Context, w io.Writer, b *Broker, change bool, line *ProgressLine) (lost bool, err error) {
	err = audit.Rewinds(ctx, b, !change, func(p int, r *rewind.Report) {
		lost = true
		printRewind(w, p, r, change)
	})
	if err != nil {
		return lost, err
	}
	losses, err := audit.Losses(ctx, b, func(p audit.Progress) { line.Show(p, time.Now()) })
	line.Clear()
	if err != nil {
		return lost, err
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
	return lost || len(losses) > 0, nil
}

func printRewind(w io.Writer, p int, r *rewind.Report, changed bool) {
	fmt.Fprintf(w, "partition %d folded inputs up to %d, but the input log lost its end", p, r.Need)
	if r.Pads > 0 {
		fmt.Fprintf(w, " and ends at %d", r.Last)
	}
	fmt.Fprintln(w)
	if r.Pads > 0 {
		fmt.Fprintf(w, "  append %d inputs without meaning, so that no sequence is assigned twice\n", r.Pads)
	}
	if r.Inputs > 0 {
		fmt.Fprintf(w, "  append the %d inputs from %d to %d again, which were stored since, and those of the same sessions that follow\n", r.Inputs, r.First, r.Through)
	}
	if r.Interrupted > 0 {
		fmt.Fprintf(w, "  %d inputs were appended by a command that was interrupted\n", r.Interrupted)
	}
	if changed {
		fmt.Fprintf(w, "partition %d is recovered; its worker goes on within 10 s\n", p)
	}
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
