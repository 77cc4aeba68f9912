package patch

import "cmp"

// In Gemini's histories, calls and results often have no id, or only one of them
// has. They are matched by the name of the tool, in order. A name that a later turn
// uses hides the calls of older turns, as an id does.

// nameQueue has the calls of a name in the last turn that used it.
type nameQueue struct {
	turn  int
	calls []int
	next  int // calls before this index have a result
}

// nameKey returns the key of calls and results that have only a name. No id begins
// with this byte.
func nameKey(name string) string { return "\x00" + name }

func (c *call) matchKey() string { return cmp.Or(c.key, c.id) }

// ref returns the text by which options refer to a call.
func (c *call) ref() string {
	if c.key != "" {
		return c.name
	}
	return c.id
}

// enqueueName adds a call to the queue of its name, and to that of the calls with
// this name that have no id.
func (h *history) enqueueName(c int) {
	h.queue(h.calls[c].name, c)
	if key := h.calls[c].key; key != "" {
		h.queue(key, c)
	}
}

func (h *history) queue(name string, c int) {
	q := h.byName[name]
	if q == nil {
		q = &nameQueue{turn: -1}
		h.byName[name] = q
	}
	if t := h.calls[c].turn; q.turn != t {
		q.turn, q.calls, q.next = t, q.calls[:0], 0
	}
	q.calls = append(q.calls, c)
}

// resultKey returns the text by which a result is matched with a call. A result with
// an id that no call has answers a call without one.
func (h *history) resultKey(r *result) string {
	switch {
	case h.byName == nil || h.hasCall(r.id):
		return r.id
	case r.id == "":
		if c := h.nextNamed(r.name); c != nil {
			return c.matchKey()
		}
		return nameKey(r.name)
	case h.nextNamed(nameKey(r.name)) != nil:
		return nameKey(r.name)
	}
	return r.id
}

func (h *history) hasCall(id string) bool {
	i, ok := h.idIndex[id]
	return ok && id != "" && h.ids[i].turn >= 0
}

// nextNamed returns the first call of a name without a result, the last one if all
// have one, nil if there is none.
func (h *history) nextNamed(name string) *call {
	q := h.byName[name]
	if q == nil {
		return nil
	}
	for q.next < len(q.calls)-1 && h.calls[q.calls[q.next]].firstResult >= 0 {
		q.next++
	}
	return &h.calls[q.calls[q.next]]
}
