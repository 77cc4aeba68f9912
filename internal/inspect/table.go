package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"streamer/internal/cli"
	"streamer/internal/events"
)

type cell struct {
	text   string
	colour cli.Colour // "" for none
	right  bool       // aligned
}

func writeTable(w io.Writer, paint cli.Paint, rows [][]cell) error {
	var widths []int
	for _, r := range rows {
		widths = widest(widths, r)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintln(w, line(paint, r, widths)); err != nil {
			return err
		}
	}
	return nil
}

func widest(widths []int, row []cell) []int {
	for i, c := range row {
		if i == len(widths) {
			widths = append(widths, 0)
		}
		widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
	}
	return widths
}

func line(paint cli.Paint, row []cell, widths []int) string {
	var b strings.Builder
	for i, c := range row {
		if i > 0 {
			b.WriteString("  ")
		}
		gap := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c.text)))
		switch {
		case c.right:
			b.WriteString(gap + paint.Text(c.colour, c.text))
		case i == len(row)-1:
			b.WriteString(paint.Text(c.colour, c.text))
		default:
			b.WriteString(paint.Text(c.colour, c.text) + gap)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func header(names ...string) []cell {
	row := make([]cell, len(names))
	for i, n := range names {
		row[i] = cell{text: n, colour: cli.Dim}
	}
	return row
}

func colourOf(s events.Status) cli.Colour {
	switch s {
	case events.Completed:
		return cli.Green
	case events.Error, events.TimedOut:
		return cli.Red
	case events.Denied, events.Cancelled:
		return cli.Yellow
	case events.AwaitingInput:
		return cli.Magenta
	default:
		return cli.Cyan
	}
}

func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// bar returns the phases of a call as a bar of width characters, where whole is the
// duration of a full bar. Each phase has its own character, so that the bar is
// readable without colours.
func bar(paint cli.Paint, c *Call, now time.Time, whole time.Duration, width int) string {
	args, waiting, running := c.phases(now)
	parts := []struct {
		d      time.Duration
		char   string
		colour cli.Colour
	}{{args, "░", cli.Blue}, {running, "█", colourOf(c.Status)}, {waiting, "▒", cli.Magenta}}
	var b strings.Builder
	done, drawn := time.Duration(0), 0
	for _, p := range parts {
		done += p.d
		end := min(width, int(int64(done)*int64(width)/int64(max(whole, 1))))
		if p.d > 0 && end == drawn && drawn < width {
			end++ // every phase is visible
		}
		b.WriteString(paint.Text(p.colour, strings.Repeat(p.char, max(0, end-drawn))))
		drawn = max(drawn, end)
	}
	b.WriteString(strings.Repeat(" ", width-drawn))
	return b.String()
}
