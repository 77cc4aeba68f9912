package patch

import "encoding/json"

// Repaired is what a repair gives.
type Repaired struct {
	// History is the repaired history, in the form in which it came (a list,
	// a list in an object, or one message a line); the input itself where
	// nothing had to change. It is nil for the outputs ops and check.
	History []byte
	// Script leads from the input to the output, for the output ops.
	Script []Edit
	Report Report
	// Wanted are the real results in the log, by Outcome.At, that the repair
	// needs and has not got. Once they are put into Options.Log, the same
	// repair gives the answer; this one has empty results in their place.
	Wanted []uint64
}

// Edit is one step of an edit script; a step has one of the three. Applied to
// the list of messages of the input, the steps give that of the output.
type Edit struct {
	Copy    *[2]int         `json:"copy,omitempty"`    // the messages from the first index to before the second
	Insert  json.RawMessage `json:"insert,omitempty"`  // a new message
	Replace *Replacement    `json:"replace,omitempty"` // a message that takes the place of one
}

// Replacement is a changed message and the index of the one it came from.
type Replacement struct {
	Message int             `json:"message"`
	With    json.RawMessage `json:"with"`
}

// Repair gives the history with every call answered, in the right place and
// once. The input is a JSON list of messages, an object with such a list as
// "messages" or "input", or one message a line; it is never modified. The shape
// is found out where it is "" or Auto. It refuses, with the place, what is no
// history, what could be of several shapes, and what is beyond the limits
// (ErrLimit).
//
// The same input gives the same output everywhere; repairing the output
// changes nothing, unless a profile has another system's rules.
func Repair(shape Shape, history []byte, o Options) (Repaired, error) {
	if err := o.Check(); err != nil {
		return Repaired{}, err
	}
	o = o.orDefaults()
	d, err := parse(unsafeString(history), o.Limits)
	if err != nil {
		return Repaired{}, err
	}
	f, err := formatOf(shape, &d)
	if err != nil {
		return Repaired{}, err
	}
	theirs, profiled := profileOf(o.Profile)
	if profiled {
		if f, err = theirs.formatFor(f, &d); err != nil {
			return Repaired{}, err
		}
	}
	h := newHistory(d, f, o)
	if err := h.read(); err != nil {
		return Repaired{}, err
	}
	if profiled {
		theirs.repair(h)
		r := h.finish(history)
		r.Report.ViolationsLeft, err = h.remainingViolations()
		r.Report.Sendable = len(r.Report.ViolationsLeft) == 0
		return r, err
	}
	h.match()
	h.decide()
	h.out = make([]piece, 0, len(h.messages)+len(h.messages)/8)
	f.render(h)
	return h.finish(history), nil
}
