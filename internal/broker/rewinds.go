package broker

import (
	"slices"
	"time"
)

// Witness identifies an input. Its sequence alone does not: after a power loss,
// or where the files of the stream were restored, the server assigns sequences
// again. The times at which it stored the two inputs differ.
type Witness struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

// Rewind records that the input log came back shorter than the part that was folded.
// The inputs from From on were stored after that. Their numbers are their sequences
// plus By, so that they follow all inputs that were folded before.
type Rewind struct {
	From   uint64    `json:"from"`
	By     uint64    `json:"by"`
	Before time.Time `json:"before,omitzero"` // when the last input before From was stored
}

// Rewinds are the rewinds of a partition's input log, oldest first. The zero
// value is a log that never was rewound.
type Rewinds []Rewind

// Effective returns the number under which the input stored at seq is folded. Event
// ids, call names and snapshots use these numbers.
func (r Rewinds) Effective(seq uint64) uint64 {
	for i := len(r) - 1; i >= 0; i-- {
		if seq >= r[i].From {
			return seq + r[i].By
		}
	}
	return seq
}

// Stored returns the sequence at which the input folded as n is stored; ok is
// false where the log lost it before it was rewound.
func (r Rewinds) Stored(n uint64) (seq uint64, ok bool) {
	for i := len(r) - 1; i >= 0; i-- {
		if n >= r[i].From+r[i].By {
			return n - r[i].By, true
		}
		if n >= r.Effective(r[i].From-1)+1 {
			return 0, false
		}
	}
	return n, true
}

// Newer reports whether r has a rewind that was recorded after all of o.
func (r Rewinds) Newer(o Rewinds) bool { return r.last() > o.last() }

// last returns the number of the first input after the last rewind, 0 if there
// is none. It grows with each.
func (r Rewinds) last() uint64 {
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1].From + r[len(r)-1].By
}

// Equal reports whether both number the inputs in the same way.
func (r Rewinds) Equal(o Rewinds) bool {
	return slices.EqualFunc(r, o, func(a, b Rewind) bool { return a.From == b.From && a.By == b.By })
}

// Add returns r with another rewind. The numbers of the inputs from from on are then
// greater than top. before is when the last input before them was stored. Rewinds whose
// inputs are lost are left out.
func (r Rewinds) Add(from, top uint64, before time.Time) Rewinds {
	var kept Rewinds
	top = max(top, r.Effective(from-1))
	for _, old := range r {
		top = max(top, old.From+old.By)
		if old.From < from {
			kept = append(kept, old)
		}
	}
	return append(kept, Rewind{From: from, By: top + 1 - min(from, top+1), Before: before})
}
