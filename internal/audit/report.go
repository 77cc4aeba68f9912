package audit

import (
	"fmt"
	"io"
)

// namedAtMost is the maximum number of sessions without a usable snapshot that
// Print names.
const namedAtMost = 20

// Print writes the report as text.
func (r *Report) Print(w io.Writer) {
	for _, d := range r.Differences {
		fmt.Fprintln(w, d)
	}
	for _, u := range r.Unreadable[:min(namedAtMost, len(r.Unreadable))] {
		fmt.Fprintln(w, u)
	}
	if n := len(r.Unreadable); n > namedAtMost {
		fmt.Fprintf(w, "... and %d more sessions whose snapshots cannot be read\n", n-namedAtMost)
	}
	fmt.Fprintf(w, "%d inputs folded again: %d sessions with %d events compared, %d differ", r.Inputs, r.Sessions, r.Events, len(r.Differences))
	if n := len(r.Unreadable); n > 0 {
		fmt.Fprintf(w, "; %d sessions have events and no snapshot that can be read", n)
	}
	if r.Older > 0 {
		fmt.Fprintf(w, "; %d sessions began before the input log does and were not compared", r.Older)
	}
	if r.Lost > 0 {
		fmt.Fprintf(w, "; %d sessions have events of inputs that the input log lost and were not compared", r.Lost)
	}
	fmt.Fprintln(w)
	for _, token := range r.Unknown {
		fmt.Fprintf(w, "neither log has session %s\n", token)
	}
}
