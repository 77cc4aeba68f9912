package patch

// responsesFormat is a list of input items of OpenAI's Responses:
// https://platform.openai.com/docs/api-reference/responses/create
// A turn is an unbroken run of items by the model.
type responsesFormat struct{}

func (responsesFormat) shape() Shape { return Responses }

// answersTo gives the type of the item that answers a call of a type.
func answersTo(kind string) string {
	switch kind {
	case "function_call", "custom_tool_call", "shell_call", "apply_patch_call", "computer_call", "tool_search_call":
		return kind + "_output"
	case "local_shell_call":
		return "function_call_output" // what this kind is answered with in practice
	}
	return ""
}

// modelItems are the items by the model besides calls, messages and reasoning.
const modelItems = "program program_output web_search_call file_search_call code_interpreter_call image_generation_call " +
	"mcp_call mcp_list_tools mcp_approval_request compaction"

// resultItems are the items that answer calls.
const resultItems = "function_call_output custom_tool_call_output local_shell_call_output shell_call_output " +
	"apply_patch_call_output computer_call_output tool_search_output tool_search_call_output"

func (responsesFormat) claims(l traits) bool {
	if l.kind == "message" {
		return !l.anthropic
	}
	return answersTo(l.kind) != "" || oneOf(l.kind, modelItems) || oneOf(l.kind, resultItems) ||
		oneOf(l.kind, "reasoning item_reference mcp_approval_response") || l.callID
}

// fits tells whether a result is of a call's kind, or can be made so: results
// of functions and of custom tools have the same fields.
func (responsesFormat) canAnswer(c *call, r *result) bool {
	if r.kind == answersTo(c.kind) {
		return true
	}
	switch c.kind {
	case "local_shell_call":
		return r.kind == "local_shell_call_output"
	case "tool_search_call":
		return r.kind == "tool_search_output"
	case "function_call", "custom_tool_call":
		return oneOf(r.kind, "function_call_output custom_tool_call_output")
	}
	return false
}

func (responsesFormat) hasName(c *call) bool {
	return c.kind == "function_call" || c.kind == "custom_tool_call"
}

func (responsesFormat) onlyResults(h *history, m int) bool { return h.role[m] == tool }

func (f responsesFormat) read(h *history, m int) {
	item := responsesItem(h.at(m))
	switch {
	case item.execution == "server": // a call of the provider's own, or its output
		f.extendTurn(h, m)
	case oneOf(item.kind, resultItems):
		h.role[m] = tool
		h.addResult(m, result{id: item.id(), kind: item.kind, content: item.output})
	case answersTo(item.kind) != "":
		f.extendTurn(h, m)
		h.addCall(m, item.call())
	case item.role == "assistant", item.kind == "reasoning", oneOf(item.kind, modelItems):
		f.extendTurn(h, m)
	case item.kind == "item_reference":
		h.continues = true
	case item.role == "user":
		h.role[m] = user
	}
}

// extend makes item m part of a turn: of that in front of it, if nothing
// stands between.
func (responsesFormat) extendTurn(h *history, m int) {
	if m > 0 && h.role[m-1] == assistant {
		h.role[m] = assistant
		h.turns[len(h.turns)-1].last = m
		return
	}
	h.addTurn(m)
}

// responsesFields are the fields of an item, as they are written.
type responsesFields struct {
	kind, role, execution, name string
	callID, itemID              string
	args, output, caller, any   string
}

func responsesItem(raw string) responsesFields {
	var f responsesFields
	for name, v := range members(raw) {
		switch name {
		case "type":
			f.kind = text(v)
		case "role":
			f.role = text(v)
		case "execution":
			f.execution = text(v)
		case "name":
			f.name = text(v)
		case "call_id":
			f.callID = v
		case "arguments":
			f.args = v
		case "output", "tools":
			f.output = v
		case "caller":
			f.caller = v
		case "input", "action", "operation":
			f.any = v
		case "id":
			f.itemID = v
		}
	}
	return f
}

// id is what an item and its answer share. A local_shell_call_output has it as
// its own id, and some clients write calls so.
func (f responsesFields) id() string {
	if f.callID == "" {
		return text(f.itemID)
	}
	return text(f.callID)
}

func (f responsesFields) call() call {
	c := call{id: f.id(), idText: f.callID, name: f.name, kind: f.kind, args: f.any, repeated: f.caller, needsScreenshot: f.kind == "computer_call"}
	if f.kind == "function_call" {
		c.args = f.args
		c.checkArgs()
	}
	return c
}
