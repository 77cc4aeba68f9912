package patch

import "strings"

// responsesSynthetic writes the new result of a call: the item of OpenAI's
// Responses that fits its kind.
// https://platform.openai.com/docs/api-reference/responses/create
// A computer_call takes nothing but a screenshot, which nobody can make up: the
// text it gets here, the API refuses.
func responsesSynthetic(c *call) string {
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

// shell gives the output of a shell call: what a command wrote, or why there
// is nothing.
func shell(c *call) string {
	switch {
	case strings.HasPrefix(c.content, "["):
		return c.content
	case c.real():
		return `[{"stdout":` + c.content + `,"stderr":"","outcome":{"type":"exit","exit_code":0}}]`
	}
	return `[{"stdout":"","stderr":` + c.content + `,"outcome":{"type":"timeout"}}]`
}
