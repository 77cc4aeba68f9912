package patch

import (
	"cmp"
	"encoding/json"
	"unsafe"
)

// Repaired is the result of Repair.
type Repaired struct {
	// History is the repaired history in the form of the input (a list, a list
	// in an object, or one message per line). It is the input itself if nothing
	// changed, and nil for the outputs ops and check.
	History []byte
	// Script has the steps from the input to the output, for the output ops.
	Script []Edit
	Report Report
	// Wanted lists, as Outcome.At and Outcome.ArgsAt, the real results and the args
	// that the repair needs and that Options.Log only refers to. The caller adds them
	// to Options.Log and repairs again, until nothing is wanted.
	Wanted []uint64
}

// Edit is one step of an edit script and has one of the three fields. Applied in
// order to the messages of the input, the steps produce those of the output.
type Edit struct {
	Copy    *[2]int         `json:"copy,omitempty"`    // the input's messages from the first index up to the second, exclusive
	Insert  json.RawMessage `json:"insert,omitempty"`  // a new message
	Replace *Replacement    `json:"replace,omitempty"` // a changed message
}

// Replacement is a changed message and the index of the input's message that it
// replaces.
type Replacement struct {
	Message int             `json:"message"`
	With    json.RawMessage `json:"with"`
}

// Repair returns the history with exactly one result for each call, in the place
// that the shape requires.
//
// The input is a JSON list of messages, an object with such a list (as "messages",
// "contents", "input", "items", "output", "data" or "values.messages"), or one message per
// line. It is never modified. If shape is "" or Auto, the shape is detected.
//
// Repair returns an error that names the place if the input is not a history, if it
// may have several shapes, or if it exceeds a limit (ErrLimit).
//
// The same input always returns the same output. Repairing the output again changes
// nothing, unless a profile selects another system's rules.
func Repair(shape Shape, history []byte, o Options) (Repaired, error) {
	if err := o.Check(); err != nil {
		return Repaired{}, err
	}
	merge := o.MergeRoles
	o = o.orDefaults()
	d, err := parse(unsafe.String(unsafe.SliceData(history), len(history)), o.Limits) // not a copy
	if err != nil {
		return Repaired{}, err
	}
	f, err := formatOf(shape, &d)
	if err != nil {
		return Repaired{}, err
	}
	if merge == nil && f.about().shape == Bedrock { // Converse requires alternating roles
		yes := true
		o.MergeRoles = &yes
	}
	p, profiled := profileOf(o.Profile)
	if profiled {
		if f, err = profileFormat(p, f, &d); err != nil {
			return Repaired{}, err
		}
	}
	reader := f
	s, isSpelled := f.(spelled)
	if isSpelled {
		reader = s.open(&d)
	}
	h := newHistory(d, reader, o)
	h.shape = f.about().shape
	if err := h.read(); err != nil {
		return Repaired{}, err
	}
	if profiled {
		h.applyProfile(p)
		r := h.finish(history)
		r.Report.ViolationsLeft, err = h.remainingViolations()
		r.Report.Sendable = len(r.Report.ViolationsLeft) == 0
		return r, err
	}
	h.match()
	if err := h.checkLinks(); err != nil {
		return Repaired{}, err
	}
	h.decide()
	if err := h.checkUnread(); err != nil {
		return Repaired{}, err
	}
	h.out = make([]piece, 0, len(h.messages)+len(h.messages)/8)
	reader.render(h)
	reader.refuseOutput(h)
	h.refuseFirst()
	if isSpelled {
		s.close(h)
	}
	return h.finish(history), nil
}

// refuseFirst reports a message of the model that no other one precedes: most models of
// Converse refuse it, and the older ones of Anthropic.
func (h *history) refuseFirst() {
	shape := h.format.about().shape
	if shape != Anthropic && shape != Bedrock && !oneOf(h.opts.Provider, "anthropic bedrock") {
		return
	}
	for _, p := range h.out {
		body := langchainBody(h.text(p))
		switch langchainRole(cmp.Or(text(member(body.fields, "role")), body.kind)) {
		case assistant:
			h.refused = append(h.refused, Violation{p.message, "assistant_first", ""})
			return
		case user, tool:
			return
		}
	}
}
