package events

import (
	"cmp"
	"slices"
)

// maxReasons is how many different reasons of rejections are listed.
const maxReasons = 20

// Rejections counts the rejections of the inputs of a stream by their reasons. The
// zero value has none.
type Rejections struct {
	Count   int // of all rejections
	Reasons []Rejection
	Other   int // rejections with reasons that are not listed
}

// Rejection is a reason, and the lines that were rejected for it.
type Rejection struct {
	Code     Code   `json:"code"`
	Text     string `json:"text"`
	Line     int    `json:"line"`      // the first
	LastLine int    `json:"last_line"` // the last
	Offset   int    `json:"offset"`    // in the input of the first
	Count    int    `json:"count"`
}

// Add adds the rejection of an input, for a fault at an offset, that a line is or
// begins.
func (r *Rejections) Add(reason *Reason, offset, line int) {
	r.Count++
	for i := range r.Reasons {
		if found := &r.Reasons[i]; found.Code == reason.Code && found.Text == reason.Text {
			found.Count++
			found.LastLine = max(found.LastLine, line)
			if line < found.Line {
				found.Line, found.Offset = line, offset
				r.sort()
			}
			return
		}
	}
	if len(r.Reasons) == maxReasons {
		r.Other++
		return
	}
	r.Reasons = append(r.Reasons, Rejection{reason.Code, reason.Text, line, line, offset, 1})
	r.sort()
}

// sort puts the reasons in the order of their lines. A line may be rejected after
// later ones, when it is known that nothing continues it.
func (r *Rejections) sort() {
	slices.SortStableFunc(r.Reasons, func(a, b Rejection) int { return cmp.Compare(a.Line, b.Line) })
}
