package patch

import "strings"

// agentsFormat is the list of items of the OpenAI Agents SDK for JavaScript: those of
// Responses in camelCase, with other types of some outputs. The SDK for Python has the items
// of Responses.
// https://github.com/openai/openai-agents-js/blob/main/packages/agents-core/src/types/protocol.ts
type agentsFormat struct{ spelling }

func openAIAgents() format {
	f := responses()
	return agentsFormat{spelling{
		format: f, view: agentsView, back: agentsBack,
		own: &facts{
			shape:  OpenAIAgents,
			claims: "callId type:function_call_result type:computer_call_result type:hosted_tool_call",
			knows:  f.about().claims + " " + f.about().knows,
		},
	}}
}

func agentsView(item string) string {
	item = renamed(item, "callId:call_id")
	switch kind := text(member(item, "type")); kind {
	case "function_call_result", "computer_call_result":
		item = setMember(item, "type", quote(strings.TrimSuffix(kind, "result")+"output"))
	case "hosted_tool_call": // the provider ran it
		item = setMember(item, "type", `"web_search_call"`)
	}
	return editMember(item, "caller", func(of string) string { return renamed(of, "callerId:caller_id") })
}

func agentsBack(item string) string {
	item = renamed(item, "call_id:callId")
	item = editMember(item, "caller", func(of string) string { return renamed(of, "caller_id:callerId") })
	switch kind := text(member(item, "type")); kind {
	case "function_call_output", "custom_tool_call_output", "computer_call_output":
		return setMember(item, "type", quote(strings.TrimSuffix(strings.Replace(kind, "custom_tool", "function", 1), "output")+"result"))
	case "shell_call_output":
		return editMember(item, "output", func(list string) string {
			return editElements(list, func(_ int, e string) (string, bool) {
				return editMember(e, "outcome", func(of string) string { return renamed(of, "exit_code:exitCode") }), true
			})
		})
	}
	return item
}

// withName adds to a new output what only this spelling has: the name of its call.
func (agentsFormat) withName(item, name string) string {
	if text(member(item, "type")) != "function_call_result" {
		return item
	}
	if member(item, "name") == "" {
		item = setMember(item, "name", quote(name))
	}
	if member(item, "status") == "" {
		item = setMember(item, "status", `"completed"`)
	}
	return item
}

func (f agentsFormat) message(c *call) string {
	return f.withName(f.spelling.message(c), c.finalName())
}

func (f agentsFormat) close(h *history) {
	names := map[string]string{}
	for i := range h.calls {
		names[h.calls[i].finalID()] = h.calls[i].finalName()
	}
	f.spelling.close(h)
	for i := range h.out {
		if p := &h.out[i]; p.text != "" {
			p.text = f.withName(p.text, names[text(member(p.text, "callId"))])
		}
	}
}
