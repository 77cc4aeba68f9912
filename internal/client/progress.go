package client

import (
	"context"
	"fmt"
	"io"
	"time"

	"streamer/internal/audit"
	"streamer/internal/backup"
	"streamer/internal/cli"
)

const progressEvery = 500 * time.Millisecond

// ProgressLine is a line on a terminal that shows the progress of a command. It
// overwrites itself.
type ProgressLine struct {
	w     io.Writer
	what  string    // of the current step
	began time.Time // the step
	shown time.Time // the line, last
}

// NewProgressLine returns a line on w. It returns nil, which shows nothing, if w
// is not a terminal.
func NewProgressLine(w io.Writer) *ProgressLine {
	if !cli.IsTerminal(w) {
		return nil
	}
	return &ProgressLine{w: w}
}

// Show shows the progress of a step, its rate and its remaining time.
func (l *ProgressLine) Show(p audit.Progress, now time.Time) {
	if l == nil {
		return
	}
	if p.What != l.what {
		l.what, l.began, l.shown = p.What, now, now
		return
	}
	if now.Sub(l.shown) >= progressEvery {
		l.shown = now
		fmt.Fprintf(l.w, "\r\x1b[K%s", progressText(p, now.Sub(l.began)))
	}
}

// Follow shows what current returns until ctx ends, and removes the line.
func (l *ProgressLine) Follow(ctx context.Context, current func() audit.Progress) {
	if l == nil {
		return
	}
	defer l.Clear()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		l.Show(current(), time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func progressText(p audit.Progress, took time.Duration) string {
	rate := float64(p.Done) / took.Seconds()
	text := fmt.Sprintf("%s: %d", p.What, p.Done)
	if p.Total > 0 {
		text += fmt.Sprintf(" of %d (%d %%)", p.Total, 100*p.Done/p.Total)
	}
	if rate >= 1 || p.Done == 0 {
		text += fmt.Sprintf(", %.0f per second", rate)
	} else {
		text += fmt.Sprintf(", %.1f per minute", 60*rate)
	}
	if p.Total > p.Done && rate > 0 {
		left := time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	if p.Note != "" {
		text += "; " + p.Note
	}
	return text
}

// Clear removes the line.
func (l *ProgressLine) Clear() {
	if l != nil && !l.shown.IsZero() {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// Backup prints each stream that a backup or a restore has copied on out, and the server
// of a restore. It shows the progress of the other streams.
func (l *ProgressLine) Backup(out io.Writer) backup.Report {
	return backup.Report{
		Into: func(server string) { fmt.Fprintln(out, "restoring into", server) },
		Copied: func(stream string, n, total int64) {
			l.Show(audit.Progress{What: "bytes of " + stream, Done: uint64(n), Total: uint64(total)}, time.Now())
		},
		Done: func(s backup.Stream) {
			l.Clear()
			fmt.Fprintln(out, s)
		},
	}
}
