package client

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// Assemble folds the recorded stream or session in. If reading fails, the assembly has the
// lines before the failure, and the error names the line.
func Assemble(in io.Reader, format string) (*session.Assembly, error) {
	a := &session.Assembly{Format: format}
	defer a.End()
	lines := inputs.NewLines(in, inputs.MaxLine)
	for n := 1; ; n++ {
		line, err := lines.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return a, fmt.Errorf("line %d: %w", n, err)
		}
		if r, ok := ParseRecorded(line); ok {
			a.Input(r.Kind, r.At, r.Data)
		} else if len(line) > 0 {
			a.Line(line)
		}
		if err != nil {
			return a, nil
		}
	}
}

// WriteEvents writes each event to w as a line of JSON.
func WriteEvents(w io.Writer, list []events.Event) error {
	out := bufio.NewWriter(w)
	for i := range list {
		if list[i].Type == events.Synthetic {
			continue
		}
		body, err := list[i].Body()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", body); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteCalls writes each call to w as a line of JSON.
func WriteCalls(w io.Writer, calls []*session.AssembledCall) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, c := range calls {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Rejections returns the rejections among events whose inputs are lines.
func Rejections(list []events.Event) *events.Rejections {
	r := &events.Rejections{}
	for i := range list {
		if e := &list[i]; e.Type == events.Rejected {
			r.Add(e.Reason, e.Offset.Bytes(), int(e.Input)) //nolint:gosec // the number of a line
		}
	}
	return r
}

// PrintRejections writes a line for each reason, with the first line of the stream
// that was rejected for it. Each begins with head.
func PrintRejections(w io.Writer, r *events.Rejections, head string) {
	for i := range r.Reasons {
		f := &r.Reasons[i]
		times := ""
		if f.Count > 1 {
			times = fmt.Sprintf(" (%d times, last in line %d)", f.Count, f.LastLine)
		}
		fmt.Fprintf(w, "%sline %d, offset %d: %s: %s%s\n", head, f.Line, f.Offset, f.Code, f.Text, times)
	}
	if r.Other > 0 {
		fmt.Fprintf(w, "%s%d more rejections, for other reasons\n", head, r.Other)
	}
}
