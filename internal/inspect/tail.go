package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/events"
)

const drawEvery = 200 * time.Millisecond

const unnamed = "(unnamed)"

// Tail writes calls as they change, until ctx ends: of one session, beginning with
// the calls that are open, or of all sessions if session is "". On a terminal the
// open calls are drawn with bars at the end of the output; elsewhere each change is
// a line.
func Tail(ctx context.Context, b *client.Broker, o Output, session string) error {
	t := &tailer{out: o, live: session == "", calls: &Calls{}}
	if cli.IsTerminal(o.W) && !o.JSON {
		t.screen = &screen{out: o}
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if t.screen != nil {
		wg.Go(func() { t.draw(ctx) })
	}
	err := t.read(ctx, b, session)
	stop()
	wg.Wait()
	if t.screen != nil {
		t.screen.clear()
	}
	return err
}

type tailer struct {
	out    Output
	screen *screen // nil if the output is no terminal

	mu    sync.Mutex // guards the fields below, and the output
	live  bool       // the events are new
	calls *Calls
}

func (t *tailer) read(ctx context.Context, b *client.Broker, session string) error {
	take := func(r events.Record, live bool) error { return t.take(&r, live) }
	if session == "" {
		_, last, err := b.EventBounds(ctx)
		if err != nil {
			return err
		}
		return b.TailMany(ctx, nil, func(string) bool { return true }, last, take, nil)
	}
	token, err := events.Token(session)
	if err != nil {
		return err
	}
	return b.Tail(ctx, token, 0, take, nil)
}

// take takes an event. Stored events before the live ones only change the calls.
func (t *tailer) take(r *events.Record, live bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Seq == 0 { // the end of the stored events
		if !t.live {
			t.live = true
			return t.open()
		}
		return nil
	}
	t.live = t.live || live
	if r.Type == events.Synthetic {
		return nil
	}
	if t.out.JSON {
		if !t.live {
			return nil
		}
		_, err := fmt.Fprintf(t.out.W, "%s\n", r.Data)
		return err
	}
	var e events.Event
	if err := json.Unmarshal(r.Data, &e); err != nil {
		return fmt.Errorf("event %d: %w", r.Seq, err)
	}
	c := t.calls.Apply(&e)
	if c == nil {
		return nil
	}
	var err error
	if t.live && shown(r.Type, t.screen != nil) {
		err = t.print(c, e.Timestamp.Std())
	}
	if !c.Open() {
		t.calls.Forget(c)
	}
	return err
}

// shown reports whether an event of a call is a line of output. A terminal shows the
// state of open calls elsewhere.
func shown(typ events.Type, terminal bool) bool {
	switch typ {
	case events.ToolCallResult, events.ToolCallLateResult:
		return true
	case events.ToolCallStart, events.ToolCallArgsComplete, events.ToolCallAwaiting, events.ToolCallAnswered:
		return !terminal
	default:
		return false
	}
}

func (t *tailer) open() error {
	if t.screen != nil || t.out.JSON {
		return nil
	}
	for _, c := range t.calls.List() {
		if err := t.print(c, c.Started); err != nil {
			return err
		}
	}
	return nil
}

func (t *tailer) print(c *Call, at time.Time) error {
	if t.screen != nil {
		t.screen.clear()
	}
	_, err := fmt.Fprintln(t.out.W, callLine(t.out.Paint, c, at))
	return err
}

func callLine(paint cli.Paint, c *Call, at time.Time) string {
	text := fmt.Sprintf("%s  %s  %s  %s  %s", at.Local().Format("15:04:05.000"), cli.Clean(c.Session), c.Call,
		paint.Text(cli.Bold, cli.Clean(cmp.Or(c.Tool, unnamed))), paint.Text(colourOf(c.Status), statusText(c)))
	if !c.Started.IsZero() && !c.Open() {
		args, waiting, running := c.phases(at)
		text += fmt.Sprintf("  %s = %s args + %s running", duration(args+waiting+running), duration(args), duration(running))
		if waiting > 0 {
			text += " + " + duration(waiting) + " waiting"
		}
	}
	return text
}

func (t *tailer) draw(ctx context.Context) {
	tick := time.NewTicker(drawEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			t.mu.Lock()
			if t.live {
				t.screen.draw(t.calls.List(), now)
			}
			t.mu.Unlock()
		}
	}
}

// maxOpen is the maximum number of open calls that are drawn: terminals are small.
const maxOpen = 15

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
			{text: cli.Clean(c.Session)},
			{text: cli.Clean(cmp.Or(c.Tool, unnamed)), colour: cli.Bold},
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
			text += "  " + cli.Clean(c.Progress)
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
