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
	Stdout  string       `json:"stdout"`
	Stderr  string       `json:"stderr"`
	Outcome shellOutcome `json:"outcome"`
}

type shellOutcome struct {
	Type     string `json:"type"`
	ExitCode int    `json:"exit_code"`
}

type approvalResponse struct {
	Type    string `json:"type"`
	Request string `json:"approval_request_id"`
	Approve bool   `json:"approve"`
	Reason  string `json:"reason"`
}

type searchOutput struct {
	Type      string   `json:"type"`
	CallID    string   `json:"call_id"`
	Execution string   `json:"execution"`
	Status    string   `json:"status"`
	Tools     []string `json:"tools"`
}

// responses gives the item that fits the kind of the call. A computer_call
// takes nothing but a screenshot, which nobody can make up: the text it gets
// here, the API refuses.
func responses(call Call, text string) (json.RawMessage, error) {
	out := responsesOutput{Type: "function_call_output", CallID: call.ID, Output: text}
	if call.Parent != "" {
		out.Caller = &caller{Type: "program", CallerID: call.Parent}
	}
	switch call.Kind {
	case "custom":
		out.Type = "custom_tool_call_output"
	case "shell":
		out.Type = "shell_call_output"
		out.Output = []shellOutput{{Stderr: text, Outcome: shellOutcome{Type: "exit", ExitCode: 1}}}
	case "apply_patch":
		out.Type, out.Status = "apply_patch_call_output", "failed"
	case "tool_search":
		return marshal(searchOutput{Type: "tool_search_output", CallID: call.ID, Execution: "client", Status: "completed", Tools: []string{}})
	case "mcp_approval_request":
		return marshal(approvalResponse{Type: "mcp_approval_response", Request: call.ID, Reason: text})
	}
	return marshal(out)
}
