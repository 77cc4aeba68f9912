// Package inspect shows operators what is in the logs of a running streamer:
// sessions, calls and events, live or stored, and what is wrong with the streams.
//
// It only reads. What it writes to a terminal is meant for people and can change;
// lines of JSON are stored events, or objects that only gain fields.
//
// The commands read the logs themselves, also while no worker and no gateway runs. Service
// answers the same on NATS, for clients whose account does not reach the logs.
package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"streamer/internal/audit"
	"streamer/internal/cli"
	"streamer/internal/client"
	"streamer/internal/events"
)

// Output is where results are written, and how.
type Output struct {
	W     io.Writer
	Paint cli.Paint
	JSON  bool // lines of JSON instead of text
}

// NoEventsError is the error for a session that has no events.
type NoEventsError struct{ Session string }

func (e *NoEventsError) Error() string {
	return fmt.Sprintf("there is no event of session %s; `streamer sessions` lists the sessions", e.Session)
}

// Sessions writes the sessions that have events, newest first.
func Sessions(ctx context.Context, b *client.Broker, o Output, limit int, now time.Time) error {
	list, err := b.Sessions(ctx, limit)
	if err != nil {
		return err
	}
	if o.JSON {
		e := json.NewEncoder(o.W)
		for _, s := range list {
			if err := e.Encode(sessionEntry{s.Session, s.Last, s.Open}); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]cell{header("SESSION", "LAST EVENT", "OPEN CALLS")}
	for _, s := range list {
		open := cell{text: strconv.Itoa(s.Open), right: true}
		if s.Open > 0 {
			open.colour = cli.Cyan
		}
		rows = append(rows, []cell{{text: cli.Clean(s.Session)}, {text: ago(now.Sub(s.Last))}, open})
	}
	return writeTable(o.W, o.Paint, rows)
}

type sessionEntry struct {
	Session string    `json:"session"`
	Last    time.Time `json:"last"` // when its last snapshot was stored
	Open    int       `json:"open"` // number of open calls
}

func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	default:
		return fmt.Sprintf("%dh %dm ago", int(d.Hours()), int(d.Minutes())%60)
	}
}

// WriteCalls writes the calls of a session.
func WriteCalls(ctx context.Context, b *client.Broker, o Output, session string, now time.Time) error {
	calls, err := callsOf(ctx, b, session)
	if err != nil {
		return err
	}
	if o.JSON {
		enc := json.NewEncoder(o.W)
		for _, c := range calls {
			if err := enc.Encode(c); err != nil {
				return err
			}
		}
		return nil
	}
	longest := time.Duration(0)
	for _, c := range calls {
		longest = max(longest, total(c, now))
	}
	rows := [][]cell{header("CALL", "TOOL", "STATUS", "ARGS", "TOTAL", "", "ID")}
	for _, c := range calls {
		rows = append(rows, callRow(c, now, longest))
	}
	return writeTable(o.W, o.Paint, rows)
}

func callsOf(ctx context.Context, b *client.Broker, session string) ([]*Call, error) {
	var calls Calls
	err := each(ctx, b, session, func(_ *events.Record, e *events.Event) error {
		calls.Apply(e)
		return nil
	})
	return calls.List(), err
}

const barWidth = 24

func callRow(c *Call, now time.Time, longest time.Duration) []cell {
	args, _, _ := c.phases(now)
	return []cell{
		{text: c.Call},
		{text: cli.Clean(c.Tool)},
		{text: statusText(c), colour: colourOf(c.Status)},
		{text: duration(args), right: true},
		{text: duration(total(c, now)), right: true},
		{text: bar(cli.Paint{}, c, now, longest, barWidth), colour: colourOf(c.Status)},
		{text: cli.Clean(c.ID), colour: cli.Dim},
	}
}

func total(c *Call, now time.Time) time.Duration {
	args, waiting, running := c.phases(now)
	return args + waiting + running
}

func statusText(c *Call) string {
	text := strings.ReplaceAll(string(c.Status), "_", " ")
	if c.Reason != "" {
		text += " (" + c.Reason + ")"
	}
	if c.Late {
		text += ", late result"
	}
	return text
}

// WriteEvents writes the stored events of a session of the types; of all if types is
// empty. Lines of JSON are the events as they are stored.
func WriteEvents(ctx context.Context, b *client.Broker, o Output, session string, types []string) error {
	return writeEvents(o, types, func(fn eventFunc) error {
		return each(ctx, b, session, func(r *events.Record, e *events.Event) error {
			return fn(strconv.FormatUint(r.Seq, 10), r.Data, e)
		})
	})
}

// eventFunc receives an event, its place in its log or file, and its line.
type eventFunc func(place string, line []byte, e *events.Event) error

// writeEvents writes the events of the types with which read calls its argument.
func writeEvents(o Output, types []string, read func(eventFunc) error) error {
	out := bufio.NewWriter(o.W)
	err := read(func(place string, line []byte, e *events.Event) error {
		if len(types) > 0 && !slices.Contains(types, string(e.Type)) {
			return nil
		}
		if !o.JSON {
			line = []byte(eventLine(o.Paint, place, e))
		}
		_, err := fmt.Fprintf(out, "%s\n", line)
		return err
	})
	return errors.Join(err, out.Flush())
}

func eventLine(paint cli.Paint, place string, e *events.Event) string {
	colour := cli.Colour("")
	switch e.Type {
	case events.ToolCallResult:
		colour = colourOf(e.Status)
	case events.Rejected, events.Unmatched:
		colour = cli.Red
	case events.ToolCallStart:
		colour = cli.Cyan
	}
	text := fmt.Sprintf("%-8s %s  %s", place, e.Timestamp.Std().Format("15:04:05.000"), paint.Text(colour, string(e.Type)))
	for _, part := range []string{subjectOf(e), cli.Clean(e.ToolName), string(e.Status), reasonOf(e), quoted(e.Content + e.Args + e.Progress)} {
		if part != "" {
			text += "  " + part
		}
	}
	return text
}

// subjectOf returns the call of an event, the id of a result without a call, or the
// input that was rejected or named what is not open.
func subjectOf(e *events.Event) string {
	switch {
	case e.Type == events.Interruption:
		return interruptedText(e)
	case e.Target != nil:
		t := e.Target
		names := slices.Concat(t.ToolCallIDs, t.Calls, []string{t.MessageID, t.Run, t.InterruptID})
		names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
		return fmt.Sprintf("input %d: %s of %s", e.Input, e.Kind, cli.Clean(strings.Join(names, ", ")))
	case e.Input != 0:
		return fmt.Sprintf("input %d", e.Input)
	case e.Type == events.OrphanResult:
		return cli.Clean(e.ID)
	}
	return e.Call
}

func interruptedText(e *events.Event) string {
	var closed int64
	if e.Closed != nil {
		closed = *e.Closed
	}
	text := fmt.Sprintf("input %d closed %d calls", e.Input, closed)
	if len(e.Calls) > 0 {
		text += ": " + strings.Join(e.Calls, ", ")
	}
	return text
}

// reasonOf returns the reason of an event. It is not shortened, because it states what
// to do.
func reasonOf(e *events.Event) string {
	if e.Reason == nil {
		return ""
	}
	return cli.Printable(string(e.Reason.Code) + ": " + e.Reason.Text)
}

// quoted returns text in quotes, shortened, with control characters escaped; "" for
// no text.
func quoted(text string) string {
	if text == "" {
		return ""
	}
	runes := []rune(text)
	if len(runes) > cli.MaxText {
		return strconv.Quote(string(runes[:cli.MaxText])) + "…"
	}
	return strconv.Quote(text)
}

// Export writes the events of a session as lines of JSON, which the page can open
// and streamer assemble --events writes too. With values, large args and results
// are in the lines instead of references to them. line shows the progress.
func Export(ctx context.Context, b *client.Broker, w io.Writer, session string, values bool, line *client.ProgressLine) (n int, err error) {
	defer line.Clear()
	_, end, err := b.EventBounds(ctx)
	if err != nil {
		return 0, err
	}
	var first uint64
	out := bufio.NewWriter(w)
	err = lines(ctx, b, session, values, func(r *events.Record, _ *events.Event, body []byte) error {
		if n++; first == 0 {
			first = r.Seq
		}
		// How many events the session has is not known, where the log ends is.
		line.Show(audit.Progress{What: "log", Done: r.Seq - first, Total: max(end, r.Seq) - first, Note: fmt.Sprintf("events: %d", n)}, time.Now())
		_, err := fmt.Fprintf(out, "%s\n", body)
		return err
	})
	return n, errors.Join(err, out.Flush())
}

// lines calls fn with the events of a session and their lines. With values, large args and
// results are in the lines instead of references to them.
func lines(ctx context.Context, b *client.Broker, session string, values bool, fn func(r *events.Record, e *events.Event, line []byte) error) error {
	return each(ctx, b, session, func(r *events.Record, e *events.Event) error {
		line := r.Data
		if values && (e.ArgsRef != nil || e.ToolResultRef != nil) {
			err := inline(ctx, b, e)
			if err == nil {
				line, err = e.Body()
			}
			if err != nil {
				return err
			}
		}
		return fn(r, e, line)
	})
}

// ExportFile is Export to a file. A file that exists keeps its content if the session
// has no events. The progress and the number of events are written to errs.
func ExportFile(ctx context.Context, b *client.Broker, name, session string, values bool, errs io.Writer) error {
	token, err := events.Token(session)
	if err != nil {
		return err
	}
	switch head, _, err := b.Head(ctx, token); {
	case err != nil:
		return err
	case head == 0:
		return &NoEventsError{session}
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := Export(ctx, b, file, session, values, client.NewProgressLine(errs))
	if err = errors.Join(err, file.Close()); err == nil {
		fmt.Fprintf(errs, "%d events of session %s are in %s\n", n, session, name)
	}
	return err
}

// inline replaces the references of an event with the values. A value that is no
// longer stored stays a reference.
func inline(ctx context.Context, b *client.Broker, e *events.Event) error {
	if e.ArgsRef != nil {
		value, err := b.Blob(ctx, *e.ArgsRef)
		if err == nil {
			text := string(value)
			e.ArgsText, e.ArgsRef = &text, nil
			if e.ArgsValid != nil && *e.ArgsValid && !e.DoubleEncoded && json.Valid(value) {
				e.ToolArgs = value
			}
		} else if !errors.Is(err, events.ErrNotFound) {
			return err
		}
	}
	if e.ToolResultRef != nil {
		value, err := b.Blob(ctx, *e.ToolResultRef)
		if err == nil {
			if e.ToolResult, e.ToolResultRef = value, nil; !json.Valid(value) {
				e.ToolResult = events.Quote(string(value))
			}
		} else if !errors.Is(err, events.ErrNotFound) {
			return err
		}
	}
	return nil
}

// each calls fn with the stored events of a session, without the synthetic messages
// that repeat results. It returns a NoEventsError if there is no event.
func each(ctx context.Context, b *client.Broker, session string, fn func(*events.Record, *events.Event) error) error {
	token, err := events.Token(session)
	if err != nil {
		return err
	}
	found := false
	err = b.Events(ctx, token, 0, func(r events.Record) error {
		found = true
		if r.Type == events.Synthetic {
			return nil
		}
		var e events.Event
		if err := json.Unmarshal(r.Data, &e); err != nil {
			return fmt.Errorf("event %d: %w", r.Seq, err)
		}
		return fn(&r, &e)
	})
	if err == nil && !found {
		return &NoEventsError{session}
	}
	return err
}
