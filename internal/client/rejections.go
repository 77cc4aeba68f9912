package client

import (
	"fmt"
	"io"

	"streamer/internal/events"
)

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
