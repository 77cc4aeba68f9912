package patch

import (
	"encoding/json"
)

// responsesOutput is an item of OpenAI's Responses that answers a call:
// https://platform.openai.com/docs/api-reference/responses/create
type responsesOutput struct {
	Type   string  `json:"type"`
	CallID string  `json:"call_id"`
	Output any     `json:"output"`
	Status string  `json:"status,omitempty"`
	Caller *caller `json:"caller,omitempty"`
}

// caller is the program of the model's that made the call.
type caller struct {
	Type     string `json:"type"`
	CallerID string `json:"caller_id"`
}

type shellOutput struct {
	Stdout  json.RawMessage `json:"stdout"`
	Stderr  json.RawMessage `json:"stderr"`
	Outcome shellOutcome    `json:"outcome"`
}

type shellOutcome struct {
	Type     string `json:"type"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

type approvalResponse struct {
	Type    string          `json:"type"`
	Request string          `json:"approval_request_id"`
	Approve bool            `json:"approve"`
	Reason  json.RawMessage `json:"reason"`
}

type searchOutput struct {
	Type      string   `json:"type"`
	CallID    string   `json:"call_id"`
	Execution string   `json:"execution"`
	Status    string   `json:"status"`
	Tools     []string `json:"tools"`
}

// responses gives the item that fits the kind of the call, with content as it
// is written: text or blocks, and real if a tool gave it. A computer_call takes
// nothing but a screenshot, which nobody can make up: the text it gets here,
// the API refuses.
func responses(call Call, content json.RawMessage, real bool) (json.RawMessage, error) {
	out := responsesOutput{Type: "function_call_output", CallID: call.ID, Output: content}
	if call.Parent != "" {
		out.Caller = &caller{Type: "program", CallerID: call.Parent}
	}
	switch call.Kind {
	case "custom":
		out.Type = "custom_tool_call_output"
	case "shell":
		out.Type, out.Output = "shell_call_output", shell(content, real)
	case "apply_patch":
		out.Type, out.Status = "apply_patch_call_output", "failed"
		if real {
			out.Status = "completed"
		}
	case "tool_search":
		return marshal(searchOutput{Type: "tool_search_output", CallID: call.ID, Execution: "client", Status: "completed", Tools: []string{}})
	case "mcp_approval_request":
		return marshal(approvalResponse{Type: "mcp_approval_response", Request: call.ID, Reason: content})
	}
	return marshal(out)
}

// shell gives the output of a shell call: what a command wrote, or why there
// is nothing.
func shell(content json.RawMessage, real bool) any {
	empty := json.RawMessage(`""`)
	switch {
	case len(content) > 0 && content[0] == '[':
		return content
	case real:
		return []shellOutput{{Stdout: content, Stderr: empty, Outcome: shellOutcome{Type: "exit", ExitCode: new(int)}}}
	}
	return []shellOutput{{Stdout: empty, Stderr: content, Outcome: shellOutcome{Type: "timeout"}}}
}
