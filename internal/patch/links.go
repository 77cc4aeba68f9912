package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// refuse makes the repair fail: a structural key of message m is missing or out of
// place, so that calls and results cannot be matched. A profile reproduces a system
// that does not look.
func (h *history) refuse(m int, format string, args ...any) {
	if h.refusal == nil && h.opts.Profile == "" {
		if h.order != nil {
			m = h.order[m]
		}
		h.refusal = fmt.Errorf("patch: message %d: %s", m, fmt.Sprintf(format, args...))
	}
}

// checkLinks refuses the history if a result without a call, or a second result of a
// call, may belong to another call, which was not found because a key is missing or
// has another name.
func (h *history) checkLinks() error {
	spare, linked := h.spareResults()
	if len(spare) == 0 {
		return h.refusal
	}
	named := false
	names := h.namedIDs()
	for _, res := range spare {
		named = named || res.id != "" || h.byName != nil && res.name != ""
		if h.byName != nil && names.mixed(res) {
			h.refuse(res.message, "a result of %q (id %q) has no place, and only some of the calls or results that it may belong to have an id", res.name, res.id)
		}
	}
	for t := range h.turns {
		if turn := &h.turns[t]; h.isBare(turn) {
			h.refuse(turn.first, "it has neither content nor calls, and message %d has a result of a call %q, which may be its own", spare[0].message, spare[0].id)
		}
	}
	if h.opaque > 0 {
		h.refuse(h.opaque-1, "it may have a call in an unknown form, and message %d has the result of a call %q, which is not found", spare[0].message, cmp.Or(spare[0].id, spare[0].name))
	}
	for c := range h.calls {
		call := &h.calls[c]
		if unlinked(call.idText, named) {
			h.refuse(call.message, "the call of %q has no key with its id, and message %d has a result of a call %q, which may be its own", call.name, spare[0].message, spare[0].id)
		}
	}
	for r := range h.results {
		res := &h.results[r]
		if unlinked(res.idText, linked) {
			h.refuse(res.message, "a result has no key with the id of its call")
		}
		if h.mayAnswer(res) {
			h.refuse(res.message, "a result without the id of its call may belong to one of the calls before it that have an id and no result")
		}
	}
	for m := range h.messages {
		if raw := h.at(m); h.role[m] == other && isNull(member(raw, "role")) && oneOf(cmp.Or(text(member(raw, "type")), "message"), "message") {
			h.refuse(m, "it has no role, and a result of a call %q has no place", spare[0].id)
		}
	}
	return h.refusal
}

// mayAnswer reports whether a result without an id may belong to a call with one, which has no
// result, in the turn before it.
func (h *history) mayAnswer(res *result) bool {
	if res.id != "" || res.call >= 0 || res.external || res.placeholder || res.after < 0 || h.byName != nil || h.opts.Orphans == "keep" {
		return false
	}
	t := &h.turns[res.after]
	return slices.ContainsFunc(h.calls[t.from:t.to], func(c call) bool {
		return c.id != "" && !h.hasResult(&c) && (res.name == "" || c.name == "" || res.name == c.name)
	})
}

// unlinked reports whether the key of an id is missing. With null it is, if the other
// side has an id: without ids, calls and results are paired by name and position.
func unlinked(idText string, other bool) bool { return idText == "" || idText == "null" && other }

// spareResults returns the real results without a call, and those behind the first
// one of a call. linked is true if a result without an id may belong to a call with
// one: in LangChain, which writes null where no id is known, to one without a result.
func (h *history) spareResults() (spare []*result, linked bool) {
	linked = len(h.hosted) > 0
	for r := range h.results {
		if res := &h.results[r]; res.call < 0 && !res.external && h.opts.Orphans != "keep" {
			spare = append(spare, res)
		}
	}
	for c := range h.calls {
		var first *result
		call := &h.calls[c]
		for r := call.firstResult; r >= 0; r = h.results[r].next {
			switch res := &h.results[r]; {
			case res.placeholder:
			case first == nil:
				first = res
			case isNull(first.content):
				h.refuse(first.message, "a result without content, and message %d has another result of its call %q", res.message, res.id)
			default:
				spare = append(spare, res)
			}
		}
		if needs := first == nil || h.format.about().shape != LangChain; needs && call.matchKey() != "" && !call.answeredInside {
			linked = true
		}
	}
	return spare, linked
}

// withIDs has whether there are calls without an id and with one, and the same of results.
type withIDs struct{ calls, results [2]bool }

type namedIDs struct {
	of  map[string]withIDs
	all withIDs
}

func (h *history) namedIDs() namedIDs {
	n, has := namedIDs{of: map[string]withIDs{}}, func(id string) int { return min(len(id), 1) }
	for c := range h.calls {
		call := &h.calls[c]
		of := n.of[call.name]
		of.calls[has(call.id)], n.all.calls[has(call.id)] = true, true
		n.of[call.name] = of
	}
	for r := range h.results {
		res := &h.results[r]
		of := n.of[res.name]
		of.results[has(res.id)], n.all.results[has(res.id)] = true, true
		n.of[res.name] = of
	}
	return n
}

// mixed reports whether some calls of the name of a result have an id and others have
// none, or some results of the name. Where a call has an id, results of other names count
// too, since a name can be missing. A result with an id and no name may belong to any call
// without an id, one with neither to any call with one.
func (n *namedIDs) mixed(res *result) bool {
	some := func(of [2]bool) bool { return of[0] && of[1] }
	of := n.of[res.name]
	switch {
	case some(of.calls), some(of.results), n.all.calls[1] && some(n.all.results):
		return true
	case res.name != "": // an id goes before a name: that of its call may be another one
		return res.id != "" && of.calls == [2]bool{} && some(n.all.calls)
	case res.id != "":
		return n.all.calls[0]
	}
	return n.all.calls[1]
}

func (h *history) isBare(t *turn) bool {
	if t.first != t.last || t.from != t.to || h.format.about().shape == Responses {
		return false
	}
	for name, v := range members(langchainBody(h.at(t.first)).fields) {
		switch name {
		case "tool_calls", "toolCalls":
			if v[0] == '[' {
				return false
			}
		case "content", "parts":
			if v[0] == '[' || text(v) != "" {
				return false
			}
		}
	}
	return true
}

// checkUnread refuses the history if a call would get a text as its result, and a later
// message has its id under a key that is not read: it may be the real result.
func (h *history) checkUnread() error {
	open := map[string]int{} // the first such call's message, by id
	for c := len(h.calls) - 1; c >= 0; c-- {
		if call := &h.calls[c]; call.id != "" && call.content != "" && !call.real() && h.format.about().shape != AIUI {
			open[call.id] = call.message
		}
	}
	for m := 0; m < len(h.messages) && len(open) > 0; m++ {
		parts := h.role[m] == tool && h.format.about().shape == AIModel // not the message is the result
		if h.role[m] != user && h.role[m] != other && !parts {
			continue
		}
		unread := func(id string) bool {
			of, ok := open[id]
			return ok && of < m && !slices.ContainsFunc(h.resultsIn(m), func(r result) bool { return r.id == id })
		}
		if id, at := findID(h.at(m), 0, unread); at != "" {
			h.refuse(m, "it has the id of the call %q as %q, where the format has no result", id, at)
		}
	}
	return h.refusal
}

// findID returns the first id in a message, or in a block of it, that is wanted, and
// its key. The message's own id, and what a block quotes, are no places for it.
func findID(value string, depth int, wanted func(string) bool) (found, at string) {
	for name, v := range members(value) {
		switch {
		case v[0] == '"' && (depth > 0 || name != "id") && strings.HasSuffix(strings.ToLower(name), "id") && wanted(text(v)):
			return text(v), name
		case v[0] == '{' && depth < 3 && !oneOf(name, "input args arguments output response metadata"):
			found, at = findID(v, depth+1, wanted)
		case v[0] == '[' && depth == 0 && oneOf(name, "content parts"):
			for _, block := range elements(v) {
				if at == "" {
					found, at = findID(block, 1, wanted)
				}
			}
		}
		if at != "" {
			break
		}
	}
	return found, at
}
