package patch

import "strings"

// Server tools are run by the provider; their results stand in the assistant's
// own message: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview
// One that was interrupted is refused, unless the provider is to go on with it.

// serverCall tells whether a block is the call of a server tool.
func serverCall(kind string) bool { return kind == "server_tool_use" || kind == "mcp_tool_use" }

// serverResult tells whether a block is the result of a server tool.
func serverResult(kind string) bool {
	return strings.HasSuffix(kind, "_tool_result")
}

// serverTools are the names of server tools and the type of their results.
func serverTools() map[string]string {
	return map[string]string{
		"web_search": "web_search", "web_fetch": "web_fetch", "code_execution": "code_execution",
		"bash_code_execution": "bash_code_execution", "text_editor_code_execution": "text_editor_code_execution",
		"tool_search_tool_regex": "tool_search", "tool_search_tool_bm25": "tool_search",
	}
}

// server gives each server tool of message m that has no result one that says
// so.
func (w *anthropicWriter) addServerResults(m, t int, raw string) string {
	h := w.h
	if h.opts.Server == "off" || !strings.Contains(raw, "server_tool_use") && !strings.Contains(raw, "mcp_tool_use") {
		return raw
	}
	open := w.unansweredServerCalls(m, t)
	if len(open) == 0 {
		return raw
	}
	if w.loops == nil {
		w.loops = h.serverLoops()
	}
	w.loops.removeRunning(t, open)
	if len(open) == 0 {
		return raw
	}
	return editMember(raw, "content", func(content string) string {
		var blocks []string
		for _, b := range elements(content) {
			id := text(member(b, "id"))
			if !open[id] || !serverCall(text(member(b, "type"))) {
				blocks = append(blocks, b)
				continue
			}
			if made := w.serverError(b); made != "" {
				blocks = append(blocks, b, made)
				h.op(Op{Op: "server_result_added", Turn: t, Message: m, Call: -1, ID: id, Name: text(member(b, "name"))})
				continue
			}
			h.op(Op{Op: "call_dropped", Turn: t, Message: m, Call: -1, ID: id, Name: text(member(b, "name")), Why: "unknown_server_tool"})
		}
		return list(blocks)
	})
}

// openServer gives the ids of the server tools of message m that have no
// result there, nor in the next assistant's message.
func (w *anthropicWriter) unansweredServerCalls(m, t int) map[string]bool {
	h := w.h
	var open map[string]bool
	for _, b := range elements(member(h.at(m), "content")) {
		if serverCall(text(member(b, "type"))) {
			if open == nil {
				open = map[string]bool{}
			}
			open[text(member(b, "id"))] = true
		}
	}
	if open == nil {
		return nil
	}
	messages := []int{m}
	if t+1 < len(h.turns) {
		messages = append(messages, h.turns[t+1].first)
	}
	for _, n := range messages {
		for _, b := range elements(member(h.at(n), "content")) {
			if serverResult(text(member(b, "type"))) {
				delete(open, text(member(b, "tool_use_id")))
			}
		}
	}
	return open
}

// serverError writes the result of a server tool that was interrupted, ""
// where the type of its result is not known.
func (w *anthropicWriter) serverError(block string) string {
	id, name := member(block, "id"), text(member(block, "name"))
	if id == "" {
		id = `""`
	}
	if text(member(block, "type")) == "mcp_tool_use" {
		said := w.h.syntheticText("interrupted", name, text(id))
		return `{"type":"mcp_tool_result","tool_use_id":` + id + `,"is_error":true,"content":[` + textBlock(quote(said)) + `]}`
	}
	kind := serverTools()[name]
	if kind == "" {
		return ""
	}
	kind += "_tool_result"
	return `{"type":"` + kind + `","tool_use_id":` + id + `,"content":{"type":"` + kind + `_error","error_code":"unavailable"}}`
}

// A server tool that runs code may call the client's tools and go on with what
// they gave: its result then stands behind as many turns as it takes, with
// nothing but tool results between them.
// https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/programmatic-tool-calling

// loops says which turns go on with the one in front of them.
type loops struct {
	last     []int          // by turn: the last one that is reached through results only
	end      int            // the last turn, if it is one whose results the provider waits for; -1
	called   map[string]int // by the id of a server tool: the last turn in which it calls a tool
	answered map[string]int // by the id of a server tool: the last turn that has its result
}

func (h *history) serverLoops() *loops {
	n := len(h.turns)
	l := &loops{last: make([]int, n), end: -1, called: map[string]int{}, answered: map[string]int{}}
	for t := n - 1; t >= 0; t-- {
		only := h.onlyResultsBehind(t)
		switch {
		case t == n-1 && only:
			l.last[t], l.end = t, t
		case t < n-1 && only:
			l.last[t] = l.last[t+1]
		default:
			l.last[t] = t
		}
	}
	for t := range h.turns {
		for c := h.turns[t].from; c < h.turns[t].to; c++ {
			l.called[h.calls[c].parent] = t
		}
		for _, b := range elements(member(h.at(h.turns[t].first), "content")) {
			if serverResult(text(member(b, "type"))) {
				l.answered[text(member(b, "tool_use_id"))] = t
			}
		}
	}
	return l
}

// onlyResultsBehind tells whether nothing but results of calls will stand
// between a turn and the next one, or the end.
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
		if f := h.results[r].disposition; f != answering && f != dropped {
			return false
		}
	}
	return true
}

// running takes out of the server tools of a turn, which have no result there,
// those that got one as they went on, and those that may still go on.
func (l *loops) removeRunning(t int, open map[string]bool) {
	for id := range open {
		answered, ok := l.answered[id]
		switch {
		case ok && answered > t && answered <= l.last[t]:
			delete(open, id)
		case l.end < 0 || l.last[t] != l.end:
		case t == l.end || l.called[id] == l.end:
			delete(open, id)
		}
	}
}
