package patch

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/events"
)

// The provider runs server tools itself. Their results are in the assistant's
// message: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview
// The API refuses a server tool without a result, unless it can still continue.

func serverResult(kind string) bool {
	return strings.HasSuffix(kind, "_tool_result")
}

// ofServer reports whether an id is that of a call that Anthropic runs.
func ofServer(id string) bool {
	return strings.HasPrefix(id, "srvtoolu_") || strings.HasPrefix(id, "mcptoolu_")
}

func (anthropicFormat) serverCall(block string) (id, name string, ok bool) {
	ok = oneOf(text(member(block, "type")), "server_tool_use mcp_tool_use")
	return text(member(block, "id")), text(member(block, "name")), ok
}

func (anthropicFormat) serverAnswer(block string) string {
	if !serverResult(text(member(block, "type"))) {
		return ""
	}
	return text(member(block, "tool_use_id"))
}

// serverError is the error result of a server tool that was interrupted.
type serverError struct{ id, name, block string }

// addServerResults returns message m, turn t, with an error for each server tool
// that has no result. The error stands behind the calls that the tool made, in this
// message or in a later one of a turn that continues it.
func (h *history) addServerResults(m, t int, raw string) string {
	f, earlier := h.format, h.serverErrors[m]
	has := func(word string) bool { return strings.Contains(raw, word) }
	if h.opts.Server == "off" || len(earlier) == 0 && !slices.ContainsFunc(f.about().server, has) {
		return raw
	}
	if h.loops == nil {
		h.loops, h.serverErrors = h.serverLoops(), map[int][]serverError{}
	}
	blocks := elementList(member(langchainBody(raw).fields, "content"))
	kept, behind := slices.Clone(blocks), make([][]string, len(blocks)) // behind has the errors behind each block
	add := func(n int, e serverError) {
		n = h.loops.lastOf(f, e.id, blocks, n)
		behind[n] = append([]string{e.block}, behind[n]...) // that of a nested call, which comes later, stands first
		h.op(Op{Op: "server_result_added", Turn: t, Message: m, Call: -1, ID: e.id, Name: e.name})
	}
	for _, e := range earlier {
		add(0, e)
	}
	changed := len(earlier) > 0
	for n, b := range blocks {
		id, name, ok := f.serverCall(b)
		if !ok || !h.loops.isOpen(t, id) {
			continue
		}
		changed = true
		e := serverError{id, name, f.serverError(h, b)}
		switch last := h.loops.lastCall(id, t, m).message; {
		case e.block == "":
			kept[n] = ""
			h.op(Op{Op: "call_dropped", Turn: t, Message: m, Call: -1, ID: id, Name: e.name, Why: "unknown_server_tool"})
		case last > m:
			h.serverErrors[last] = append(h.serverErrors[last], e)
		default:
			add(n, e)
		}
	}
	if !changed {
		return raw
	}
	var out []string
	for n, b := range kept {
		if b != "" {
			out = append(out, b)
		}
		out = append(out, behind[n]...)
	}
	return langchainEdit(raw, func(fields string) string {
		return editMember(fields, "content", func(string) string { return list(out) })
	})
}

// serverError returns the error result of an interrupted server tool, "" if the
// type of its result is unknown.
func (anthropicFormat) serverError(h *history, block string) string {
	id, name := member(block, "id"), text(member(block, "name"))
	if id == "" {
		id = `""`
	}
	if text(member(block, "type")) == "mcp_tool_use" {
		reason := h.syntheticText(events.TextInterrupted, name, text(id), member(block, "input"))
		return `{"type":"mcp_tool_result","tool_use_id":` + id + `,"is_error":true,"content":[` + textBlock(quote(reason)) + `]}`
	}
	switch name {
	case "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution":
	case "tool_search_tool_regex", "tool_search_tool_bm25":
		name = "tool_search"
	default:
		return ""
	}
	kind := name + "_tool_result"
	return `{"type":"` + kind + `","tool_use_id":` + id + `,"content":{"type":"` + kind + `_error","error_code":"unavailable"}}`
}

// A server tool that runs code may call the client's tools and continue with
// their results. Its own result then follows any number of turns later, with
// only tool results between those turns.
// https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/programmatic-tool-calling

// loops describes which turns continue the previous one.
type loops struct {
	last     []int              // by turn: the last turn that continues it
	end      int                // the last turn if only results follow it, otherwise -1
	caller   map[string]string  // by id of a call: the program that made it
	called   map[string][]place // by id of a server tool: where its calls and their results are
	answered map[string][]int   // by id of a server tool: the turns with its result
}

type place struct{ turn, message int }

func (h *history) serverLoops() *loops {
	n := len(h.turns)
	l := &loops{last: make([]int, n), end: -1, caller: map[string]string{}, called: map[string][]place{}, answered: map[string][]int{}}
	for t := n - 1; t >= 0; t-- {
		l.last[t] = t
		switch only := h.onlyResultsBehind(t); {
		case only && t == n-1:
			l.end = t
		case only:
			l.last[t] = l.last[t+1]
		}
	}
	for t := range h.turns {
		for m := h.turns[t].first; m <= h.turns[t].last; m++ {
			for _, b := range elements(member(langchainBody(h.at(m)).fields, "content")) {
				id := h.format.serverAnswer(b)
				if id != "" {
					l.answered[id] = append(l.answered[id], t)
				} else if id, _, _ = h.format.serverCall(b); id != "" {
					l.caller[id] = text(member(member(b, "caller"), "tool_id"))
				}
				l.note(id, place{t, m})
			}
		}
		for _, c := range h.calls[h.turns[t].from:h.turns[t].to] {
			l.caller[c.id] = c.parent
			l.note(c.id, place{t, c.message})
		}
	}
	return l
}

// note adds the place of a call, or of its result, to the programs that made the call, also
// through another one.
func (l *loops) note(id string, at place) {
	for range maxPrograms {
		if id = l.caller[id]; id == "" {
			return
		}
		l.called[id] = append(l.called[id], at)
	}
}

// maxPrograms is how many programs that made each other are looked at.
const maxPrograms = 8

// lastOf returns the last of the blocks that is of a call which a program made, also through
// another call; from if none is behind that.
func (l *loops) lastOf(f format, program string, blocks []string, from int) int {
	for n := len(blocks) - 1; n > from; n-- {
		id := cmp.Or(f.serverAnswer(blocks[n]), text(member(blocks[n], "id")), text(member(blocks[n], "toolCallId")))
		for range maxPrograms {
			if id = l.caller[id]; id == program {
				return n
			}
		}
	}
	return from
}

// onlyResultsBehind reports whether the output has only results of calls between a
// turn and the next one, or the end.
func (h *history) onlyResultsBehind(t int) bool {
	next := len(h.messages)
	if t+1 < len(h.turns) {
		next = h.turns[t+1].first
	}
	for m := h.turns[t].last + 1; m < next; m++ {
		if !h.format.onlyResults(h, m) {
			return false
		}
	}
	for r, to := h.gap(t); r < to; r++ {
		if d := h.results[r].disposition; d != answering && d != dropped {
			return false
		}
	}
	return true
}

// isOpen reports whether a server tool of turn t has neither a result, in this turn, in
// the next one or in one that continues it, nor may still continue.
func (l *loops) isOpen(t int, id string) bool {
	turns := l.answered[id]
	if n := len(turns); slices.Contains(turns, t) || slices.Contains(turns, t+1) || n > 0 && turns[n-1] > t && turns[n-1] <= l.last[t] {
		return false
	}
	return l.last[t] != l.end || t != l.end && l.lastCall(id, t, -1).turn != l.end
}

// lastCall returns where a server tool of message m, turn t, calls its last tool; m for none.
func (l *loops) lastCall(id string, t, m int) place {
	last, calls := place{t, m}, l.called[id]
	for i := len(calls) - 1; i >= 0 && calls[i].turn >= t; i-- {
		if c := calls[i]; c.turn <= l.last[t] && c.message > last.message {
			last = c
		}
	}
	return last
}
