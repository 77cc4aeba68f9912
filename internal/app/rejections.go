package app

import (
	"fmt"
	"io"

	"streamer/internal/events"
)

// maxReasons is how many different reasons of rejections are listed.
const maxReasons = 20

// Rejections counts the rejections of a recorded stream by their reasons.
type Rejections struct {
	Count   int // of all rejections
	reasons []rejection
	other   int // rejections with reasons that are not listed
}

// rejection is a reason, and the lines that were rejected for it.
type rejection struct {
	reason      events.Reason
	line, last  int
	offset, num int
}

// Rejected returns the rejections among events whose inputs are lines.
func Rejected(list []events.Event) *Rejections {
	r := &Rejections{}
	for i := range list {
		if e := &list[i]; e.Type == events.Rejected {
			r.Add(e, int(e.Input)) //nolint:gosec // the number of a line
		}
	}
	return r
}

// Add adds a rejected event that a line caused.
func (r *Rejections) Add(e *events.Event, line int) {
	r.Count++
	for i := range r.reasons {
		if found := &r.reasons[i]; found.reason.Code == e.Reason.Code && found.reason.Text == e.Reason.Text {
			found.num++
			found.last = line
			return
		}
	}
	if len(r.reasons) == maxReasons {
		r.other++
		return
	}
	r.reasons = append(r.reasons, rejection{*e.Reason, line, line, e.Offset.Bytes(), 1})
}

// Print writes a line for each reason, with the first line of the stream that was
// rejected for it. Each begins with head.
func (r *Rejections) Print(w io.Writer, head string) {
	for _, f := range r.reasons {
		times := ""
		if f.num > 1 {
			times = fmt.Sprintf(" (%d times, last in line %d)", f.num, f.last)
		}
		fmt.Fprintf(w, "%sline %d, offset %d: %s: %s%s\n", head, f.line, f.offset, f.reason.Code, f.reason.Text, times)
	}
	if r.other > 0 {
		fmt.Fprintf(w, "%s%d more rejections, for other reasons\n", head, r.other)
	}
}
