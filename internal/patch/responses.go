package patch

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/events"
)

// responsesFormat is a list of input items of OpenAI's Responses API. A turn is an
// unbroken run of items by the model.
// https://platform.openai.com/docs/api-reference/responses/create
type responsesFormat struct{ *facts }

func responses() format {
	f := &facts{shape: Responses, claims: "call_id", knows: "role:developer"}
	for item := range strings.FieldsSeq(callItems + " " + resultItems + " " + modelItems + " reasoning item_reference mcp_approval_response") {
		f.claims += " type:" + item
	}
	return messageShape{responsesFormat{f}}
}

// callItems are the types of the items that are calls.
const callItems = "function_call custom_tool_call shell_call apply_patch_call computer_call tool_search_call local_shell_call"

// answersTo returns the type of the item that answers a call of a type, "" if the
// type is not a call.
func answersTo(kind string) string {
	switch kind {
	case "function_call", "custom_tool_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call":
		return kind + "_output"
	case "local_shell_call":
		return "function_call_output" // the type that clients use in practice
	}
	return ""
}

// modelItems are the types of the model's items other than calls, messages and
// reasoning.
const modelItems = "program program_output web_search_call file_search_call code_interpreter_call image_generation_call " +
	"mcp_call mcp_list_tools mcp_approval_request compaction"

// resultItems are the types of the items that answer calls.
const resultItems = "function_call_output custom_tool_call_output local_shell_call_output shell_call_output " +
	"apply_patch_call_output computer_call_output tool_search_output tool_search_call_output"

// canAnswer reports whether a result has the kind that the call requires, or a kind
// that can be changed to it: results of functions and custom tools have the same
// fields.
func (responsesFormat) canAnswer(c *call, r *result) bool {
	if r.kind == answersTo(c.kind) {
		return true
	}
	switch c.kind {
	case "local_shell_call":
		return r.kind == "local_shell_call_output"
	case "tool_search_call": // the API accepts an output of a function, too
		return oneOf(r.kind, "tool_search_output function_call_output")
	case "function_call", "custom_tool_call":
		return oneOf(r.kind, "function_call_output custom_tool_call_output")
	}
	return false
}

func (responsesFormat) hasName(c *call) bool {
	return c.kind == "function_call" || c.kind == "custom_tool_call"
}

func (responsesFormat) read(h *history, m int) {
	var kind, role, execution, name, callID, itemID, args, output, caller, input string
	scan(h.at(m), to{"type", &kind}, to{"role", &role}, to{"execution", &execution}, to{"name", &name},
		to{"call_id", &callID}, to{"id", &itemID}, to{"arguments", &args}, to{"caller", &caller},
		to{"output", &output}, to{"tools", &output}, to{"input", &input}, to{"action", &input}, to{"operation", &input})
	kind, role = text(kind), text(role)
	isCopy := h.isCopy(m, ownID(kind, callID, text(itemID)))
	id := text(callID)
	if isNull(callID) { // some clients have it in the item's own id, as a local_shell_call_output does
		id = text(itemID)
	}
	switch {
	case text(execution) == "server": // a call that the provider ran itself, or its output
		h.extendTurn(m)
	case oneOf(kind, resultItems):
		h.role[m] = tool
		if isNull(callID) && kind == "local_shell_call_output" {
			callID = itemID
		}
		h.addResult(m, result{id: id, idText: callID, kind: kind, content: output})
	case answersTo(kind) != "":
		if h.extendTurn(m); isCopy {
			return
		}
		c := call{id: id, idText: callID, name: text(name), kind: kind, args: cmp.Or(input, args), repeated: caller, needsScreenshot: kind == "computer_call"}
		if kind == "function_call" {
			c.args = args
			c.checkArgs()
		}
		h.addCall(m, c)
	case role == "assistant", kind == "reasoning", oneOf(kind, modelItems):
		h.extendTurn(m)
	case kind == "item_reference":
		h.continues = true
	case role == "user":
		h.role[m] = user
	}
}

// ownID returns the id of an item, "" if it is that of a call, or the one that the OpenAI
// Agents SDK gives to all items of other APIs.
func ownID(kind, callID, id string) string {
	if id == "__fake_id__" || oneOf(kind, resultItems) || answersTo(kind) != "" && isNull(callID) {
		return ""
	}
	return id
}

// refuseOutput reports an id that two items have, and OpenAI's reasoning that no item of the
// model follows: only an item with an id counts, or a call. Other providers, whose reasoning
// has other ids, accept it.
func (responsesFormat) refuseOutput(h *history) {
	follows, later, n := false, map[string]int{}, len(h.refused)
	for i := len(h.out) - 1; i >= 0; i-- {
		item, m := h.text(h.out[i]), h.out[i].message
		kind, id := text(member(item, "type")), text(member(item, "id"))
		if own := ownID(kind, member(item, "call_id"), id); own != "" {
			if other, twice := later[own]; twice {
				h.refused = append(h.refused, Violation{other, "duplicate_item", strings.Clone(own)})
			}
			later[own] = m
		}
		switch {
		case kind != "reasoning":
			follows = answersTo(kind) != "" || oneOf(kind, modelItems+" item_reference") || id != "" && text(member(item, "role")) == "assistant"
		case !follows && strings.HasPrefix(id, "rs_"):
			h.refused = append(h.refused, Violation{m, "reasoning_alone", strings.Clone(id)})
		}
	}
	slices.Reverse(h.refused[n:])
}

func (f responsesFormat) putTurn(h *history, t int) {
	w := responsesWriter{h: h, f: f, t: t}
	w.loneReasoning = w.findLoneReasoning()
	w.turn()
}

type responsesWriter struct {
	h *history
	f responsesFormat
	t int

	loneReasoning map[int]bool // reasoning items whose call was dropped
}

// turn writes the items of a turn with their results. The results follow the whole
// turn if all of them are there or the turn is in flight. Otherwise they follow
// each group of calls.
func (w *responsesWriter) turn() {
	h, turn := w.h, &w.h.turns[w.t]
	inFlight := h.inFlight && w.t == len(h.turns)-1
	if !h.provider.adjacent && (inFlight || w.allResultsFollow()) {
		w.items(turn.first, turn.last+1)
		w.f.putResults(h, w.t)
		return
	}
	from, c := turn.first, turn.from
	for c < turn.to {
		next := c + 1
		for next < turn.to && w.sameGroup(h.calls[next-1].message, h.calls[next].message) {
			next++
		}
		to := h.calls[next-1].message + 1
		w.items(from, to)
		last := to == turn.last+1
		h.putAnswers(c, next, func(r *result) bool { return turn.directly(r) && (last || !h.provider.adjacent) })
		from, c = to, next
	}
	w.items(from, turn.last+1)
}

func (w *responsesWriter) allResultsFollow() bool {
	h, turn := w.h, &w.h.turns[w.t]
	for c := turn.from; c < turn.to; c++ {
		call := &h.calls[c]
		if call.dropped != "" || call.leftOpen {
			continue
		}
		if call.answer < 0 || !turn.directly(&h.results[call.answer]) {
			return false
		}
	}
	return true
}

// sameGroup reports whether only reasoning is between two calls. A result there
// would separate the reasoning from its call.
func (w *responsesWriter) sameGroup(from, to int) bool {
	for m := from + 1; m < to; m++ {
		if !w.f.isReasoning(w.h.at(m)) {
			return false
		}
	}
	return true
}

func (w *responsesWriter) items(from, to int) {
	h := w.h
	for m := from; m < to; m++ {
		calls := h.callsOf(&h.turns[w.t], m)
		switch {
		case h.copies[m], len(calls) > 0 && calls[0].dropped != "":
		case len(calls) > 0 && calls[0].changed():
			h.put(m, calls[0].rewritten(h.at(m), "call_id", "name", "arguments"))
		case w.loneReasoning[m]:
			h.op(Op{Op: "reasoning_dropped", Turn: w.t, Message: m, Call: -1, ID: text(member(h.at(m), "id")), Hash: hash(h.at(m))})
		default:
			h.copy(m)
		}
	}
}

// findLoneReasoning returns the reasoning items whose call was dropped: only reasoning and
// dropped calls are between them and the end of the turn.
func (w *responsesWriter) findLoneReasoning() map[int]bool {
	h, turn := w.h, &w.h.turns[w.t]
	var lone map[int]bool
	lost := false
	for m := turn.last; m >= turn.first; m-- {
		calls := h.callsOf(turn, m)
		switch {
		case len(calls) > 0 && calls[0].dropped != "":
			lost = true
		case !w.f.isReasoning(h.at(m)):
			return lone
		case lost:
			if lone == nil {
				lone = map[int]bool{}
			}
			lone[m] = true
		}
	}
	return lone
}

func (f responsesFormat) result(h *history, r *result) string {
	raw := h.at(r.message)
	c := &h.calls[r.call]
	if c.finalID() != r.id {
		field := "call_id"
		if isNull(member(raw, field)) && !isNull(member(raw, "id")) {
			field = "id"
		}
		raw = setMember(raw, field, quote(c.finalID()))
	}
	if f.canAnswer(c, r) && (c.kind != "function_call" && c.kind != "custom_tool_call" || r.kind == answersTo(c.kind)) {
		return raw
	}
	now := f.retyped(c, r, raw)
	kind := text(member(now, "type"))
	if kind == r.kind {
		h.refused = append(h.refused, Violation{r.message, "output_kind", strings.Clone(c.finalID())})
		return now
	}
	op := h.resultOp("result_retyped", r)
	op.From, op.To = r.kind, kind
	h.op(op)
	return now
}

// retyped returns a result in the kind of its call. A text cannot become the screenshot
// that a computer_call requires: such a result stays, and one without an output.
func (f responsesFormat) retyped(c *call, r *result, raw string) string {
	plain := oneOf(r.kind, "function_call_output custom_tool_call_output")
	of := *c
	of.reason, of.content = reasonGiven, string(joinTextBlocks([]byte(r.content)))
	if r.placeholder {
		of.reason, of.isError = string(events.TextInterrupted), true
	}
	if !strings.HasPrefix(of.content, `"`) {
		of.content = quote(of.content)
	}
	switch {
	case r.content == "": // it may have another name
		return raw
	case c.needsScreenshot:
		for _, b := range elements(r.content) {
			if text(member(b, "type")) == "input_image" {
				return setMember(setMember(raw, "type", `"computer_call_output"`), "output", setMember(b, "type", quote(screenshot)))
			}
		}
		return raw
	case plain && oneOf(c.kind, "function_call custom_tool_call"):
		return setMember(raw, "type", quote(answersTo(c.kind)))
	case text(member(r.content, "type")) == screenshot:
		of.content = list([]string{setMember(r.content, "type", `"input_image"`)})
	case c.kind == "tool_search_call": // which has no place for a text
		of.kind = "function_call"
	}
	return f.message(&of)
}

func (responsesFormat) isReasoning(item string) bool {
	return text(member(item, "type")) == "reasoning"
}

func (responsesFormat) userText(_ *history, _ int, content string) string {
	if strings.HasPrefix(content, "[") {
		content = editElements(content, func(_ int, b string) (string, bool) {
			if text(member(b, "type")) == "text" {
				return setMember(b, "type", `"input_text"`), true
			}
			return b, true
		})
	}
	return `{"type":"message","role":"user","content":` + content + `}`
}

func (responsesFormat) adopt(h *history, r *result) (turn, result string) {
	id := quote(r.changedID)
	output := setMember(setMember(h.at(r.message), "call_id", id), "type", `"function_call_output"`)
	if content := contentOf(r.content); content != r.content {
		output = setMember(output, "output", content) // the output of another kind of call
	}
	return `{"type":"function_call","call_id":` + id + `,"name":"unknown","arguments":"{}"}`, output
}

// message returns the item that answers the kind of call. A computer_call accepts
// only a screenshot, so the API refuses the text that it gets here.
// https://platform.openai.com/docs/api-reference/responses/create
func (responsesFormat) message(c *call) string {
	id, rest := c.finalIDText(), ""
	switch {
	case c.parent != "":
		rest = `,"caller":{"type":"program","caller_id":` + quote(c.parent) + `}`
	case c.repeated != "":
		rest = `,"caller":` + c.repeated
	}
	output := func(kind, output string) string {
		return `{"type":"` + kind + `","call_id":` + id + `,"output":` + output + rest + `}`
	}
	switch strings.TrimSuffix(strings.TrimSuffix(c.kind, "_call"), "_tool") {
	case "custom":
		return output("custom_tool_call_output", c.content)
	case "shell":
		return output("shell_call_output", shell(c))
	case "apply_patch":
		status := "failed"
		if c.real() && !c.isError {
			status = "completed"
		}
		rest = `,"status":"` + status + `"` + rest
		return output("apply_patch_call_output", c.content)
	case "tool_search":
		return `{"type":"tool_search_output","call_id":` + id + `,"execution":"client","status":"completed","tools":[]}`
	case "mcp_approval_request":
		return `{"type":"mcp_approval_response","approval_request_id":` + id + `,"approve":false,"reason":` + c.content + `}`
	}
	return output("function_call_output", c.content)
}

// shell returns the output of a shell call: what a command wrote, or the reason why
// there is no result.
func shell(c *call) string {
	switch {
	case strings.HasPrefix(c.content, "["):
		return c.content
	case c.real():
		return `[{"stdout":` + c.content + `,"stderr":"","outcome":{"type":"exit","exit_code":0}}]`
	}
	return `[{"stdout":"","stderr":` + c.content + `,"outcome":{"type":"timeout"}}]`
}
