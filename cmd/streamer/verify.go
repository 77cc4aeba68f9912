package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"streamer/internal/worker"
)

func verify(ctx context.Context, std stdio, args []string) error {
	fs := flags("verify")
	var n natsFlags
	n.register(fs)
	sessions, err := parse(std, fs, args)
	if err != nil {
		return err
	}
	var tokens []string
	for _, s := range sessions {
		token, err := tokenOf(std, fs, s)
		if err != nil {
			return err
		}
		tokens = append(tokens, token)
	}
	b, err := dial(ctx, n)
	if err != nil {
		return err
	}
	defer b.Close()
	v := worker.Verification{Log: b}
	var line progressLine
	if terminal(std.err) {
		line.w = std.err
		v.Progress = func(p worker.Progress) { line.show(p, time.Now()) }
	}
	r, err := v.Run(ctx, tokens...)
	line.clear()
	if err != nil {
		return err
	}
	printReport(std.out, &r)
	if !r.Faultless() || len(r.Unknown) > 0 {
		return exit(exitFailed)
	}
	return nil
}

// namedAtMost is how many sessions without a usable snapshot are named.
const namedAtMost = 20

func printReport(out io.Writer, r *worker.Report) {
	for _, d := range r.Differences {
		fmt.Fprintln(out, d)
	}
	for _, u := range r.Unreadable[:min(namedAtMost, len(r.Unreadable))] {
		fmt.Fprintln(out, u)
	}
	if n := len(r.Unreadable); n > namedAtMost {
		fmt.Fprintf(out, "... and %d more sessions whose snapshots cannot be read\n", n-namedAtMost)
	}
	fmt.Fprintf(out, "%d inputs folded again: %d sessions with %d events compared, %d differ", r.Inputs, r.Sessions, r.Events, len(r.Differences))
	if n := len(r.Unreadable); n > 0 {
		fmt.Fprintf(out, "; %d sessions have events and no snapshot that can be read", n)
	}
	if r.Older > 0 {
		fmt.Fprintf(out, "; %d sessions began before the input log does and were not compared", r.Older)
	}
	if r.Lost > 0 {
		fmt.Fprintf(out, "; %d sessions have events of inputs that the input log lost and were not compared", r.Lost)
	}
	fmt.Fprintln(out)
	for _, token := range r.Unknown {
		fmt.Fprintf(out, "there is nothing of session %s\n", token)
	}
}

// terminal reports whether w is a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// progressEvery is how often the line of progress changes.
const progressEvery = 500 * time.Millisecond

// progressLine is a line on a terminal that is written over again and again. The
// zero value, without w, shows nothing.
type progressLine struct {
	w     io.Writer
	what  string    // of the step under way
	began time.Time // when it began
	shown time.Time
}

// show shows how far a step is, how fast it goes, and how long it will take.
func (l *progressLine) show(p worker.Progress, now time.Time) {
	if p.What != l.what {
		l.what, l.began, l.shown = p.What, now, now
		return
	}
	if now.Sub(l.shown) < progressEvery {
		return
	}
	l.shown = now
	fmt.Fprintf(l.w, "\r\x1b[K%s", progressText(p, now.Sub(l.began)))
}

// progressText returns the text of a step that has taken so long.
func progressText(p worker.Progress, took time.Duration) string {
	rate := float64(p.Done) / took.Seconds()
	text := fmt.Sprintf("%s: %d", p.What, p.Done)
	if p.Total > 0 {
		text += fmt.Sprintf(" of %d (%d %%)", p.Total, 100*p.Done/p.Total)
	}
	text += fmt.Sprintf(", %.0f per second", rate)
	if p.Total > p.Done && rate > 0 {
		left := time.Duration(float64(p.Total-p.Done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// clear removes the line.
func (l *progressLine) clear() {
	if l.w != nil && !l.shown.IsZero() {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}
