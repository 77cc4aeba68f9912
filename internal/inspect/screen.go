package inspect

import (
	"fmt"
	"strings"
	"time"

	"streamer/internal/cli"
)

// maxOpen is the maximum number of open calls that are drawn, so that they fit on
// small terminals.
const maxOpen = 15

// screen is the part of a terminal below the output, with the calls that are open.
type screen struct {
	out   Output
	lines int // that are drawn
}

func (s *screen) clear() {
	if s.lines > 0 {
		fmt.Fprintf(s.out.W, "\x1b[%dA\r\x1b[J", s.lines)
		s.lines = 0
	}
}

// draw replaces the lines. Long lines are cut off by the terminal, because a wrapped
// line would not be removed.
func (s *screen) draw(calls []*Call, now time.Time) {
	rows := frame(s.out.Paint, calls, now)
	var b strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.lines)
	}
	b.WriteString("\x1b[?7l")
	for _, r := range rows {
		b.WriteString(r + "\n")
	}
	b.WriteString("\x1b[?7h")
	fmt.Fprint(s.out.W, b.String())
	s.lines = len(rows)
}

// frame returns the lines for the open calls: those that began last, with bars whose
// scale is the longest call.
func frame(paint cli.Paint, calls []*Call, now time.Time) (lines []string) {
	if len(calls) == 0 {
		return []string{paint.Text(cli.Dim, "no open calls; waiting for events")}
	}
	hidden := max(0, len(calls)-maxOpen)
	calls = calls[hidden:]
	longest := time.Second
	for _, c := range calls {
		longest = max(longest, total(c, now))
	}
	var rows [][]cell
	for _, c := range calls {
		rows = append(rows, []cell{
			{text: clean(c.Session)},
			{text: clean(orUnnamed(c.Tool)), colour: cli.Bold},
			{text: statusText(c), colour: colourOf(c.Status)},
			{text: duration(total(c, now)), right: true},
		})
	}
	var widths []int
	for _, r := range rows {
		widths = widest(widths, r)
	}
	for i, c := range calls {
		text := line(paint, rows[i], widths) + "  " + bar(paint, c, now, longest, barWidth) + left(c, now)
		if c.Progress != "" {
			text += "  " + clean(c.Progress)
		}
		lines = append(lines, text)
	}
	if hidden > 0 {
		lines = append(lines, paint.Text(cli.Dim, fmt.Sprintf("and %d more open calls", hidden)))
	}
	return lines
}

func left(c *Call, now time.Time) string {
	if c.Deadline == nil || c.Deadline.IsZero() || c.Deadline.Before(now) {
		return ""
	}
	return "  closes in " + duration(c.Deadline.Sub(now).Truncate(time.Second))
}
