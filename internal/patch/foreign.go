package patch

import (
	"cmp"
	"fmt"
	"strings"
)

// foreignFormat is a format that is recognised only to be refused.
type foreignFormat struct {
	name    string
	refused string // words, each of which refuses the history
	signs   string // further words, and words joined by "+", that only tell its name
	advice  string // what can be passed instead, "" if nothing in its messages
}

// foreign lists the formats that are not read; the first whose words the messages have
// names them. A word is that of a vocabulary, or a key of the object that has the list.
func foreign() []foreignFormat {
	return []foreignFormat{
		{"AI SDK 4", "toolInvocations parts:tool-invocation content:tool-invocation", "", "convert them to UIMessages of AI SDK 5"},
		{"Mastra", "content{}.format", "threadId+resourceId", "convert them with toAISdkV5Messages"},
		{"Google ADK (Agent Development Kit)", "", "content{}.parts+author content{}.parts+invocationId content{}.parts+invocation_id events+appName events+app_name", `pass the "content" of each event as gemini`},
		{"Qwen Code", "", ".message{}.parts+uuid toolCallResult+uuid", `pass the "message" of each line as gemini`},
		{"Gemini CLI", "content{}.parts type:gemini", "projectHash displayContent", `pass the history of its client as gemini`},
		{"pi or OpenClaw", "role:toolResult content:toolCall message.message", "type:session+version", ""},
		{"Goose", "content:toolRequest content:toolResponse", "", ""},
		{"LibreChat", "content.tool_call", "", ""},
		{"Haystack", "content/tool_call content/tool_call_result", "_content", ""},
		{"Spring AI", "", "messageType", ""},
		{"LiteLLM or Converse in snake_case", "", "content/tool_use content/tool_result", "write toolUse and toolResult for bedrock"},
		{"rig", "content/function content:toolresult", "content/id+content/function", ""},
		{"Strands", "", "message_id+message{}.content", `pass the "message" of each as bedrock`},
		{"Continue", "", "message{}.toolCalls contextItems history+sessionId", ""},
		{"Inspect AI", "tool_calls.function:text", "", `write "function" as an object of name and arguments for openai`},
		{"ATIF (Agent Trajectory Interchange Format)", "tool_calls.function_name", "schema_version+steps step_id", ""},
		{"smolagents", "role:tool-call role:tool-response", "step_number+observations steps+system_prompt", ""},
		{"OpenHands", "", "action+source+args observation+cause kind+tool_call_id tool_call_metadata", ""},
		{"A2A", "parts/kind role:ROLE_USER role:ROLE_AGENT", "messageId+parts parts+role:agent", ""},
		{"Pydantic AI", "parts/part_kind", "", ""},
		{"LlamaIndex", "blocks", "blocks.block_type additional_kwargs+role:assistant", ""},
		{"Semantic Kernel", "items.$type items/$type", "Items.$type Items/$type", ""},
		{"Microsoft.Extensions.AI", "contents.$type contents/$type", "", ""},
		{"Microsoft Agent Framework", "contents:text contents:function_call contents:function_result contents:functionCall contents:functionResult", "", ""},
		{"assistant-ui", "content.argsText", "", ""},
		{"OpenCode", "info{}.role parts:tool parts:step-finish", "", ""},
		{"Codex, a rollout file", "type:response_item type:event_msg type:session_meta", "type:compacted+payload", `pass the "payload" of the lines of type response_item as responses`},
		{"Codex, codex exec", "type:thread.started type:item.completed", "", ""},
		{"AutoGen", "type:AssistantMessage type:ToolCallRequestEvent type:ToolCallExecutionEvent type:FunctionExecutionResultMessage type:ToolCallSummaryMessage", "tool_responses", ""},
		{"Letta", "", "message_type", ""},
		{"LangGraph, a checkpoint", "", "channel_values channel_versions checkpoint+metadata", `pass the "messages" of its "channel_values"`},
		{"LangSmith, a run", "", "run_type+inputs", "pass the messages of its inputs"},
		{"Langfuse", "", "traceId+observations observations+scores traceId+input", "pass the input of an observation"},
		{"RunItems of the OpenAI Agents SDK", "", "rawItem raw_item type:tool_call_item", `pass the "rawItem" or "raw_item" of each`},
		{"OpenAI Realtime, its events", "type:conversation.item.create type:conversation.item.created type:conversation.item.added type:conversation.item.done", "type:session.update", `pass the "item" of each as responses`},
		{"OpenAI Assistants, run steps", "", "step_details", ""},
		{"Claude Managed Agents", "type:agent.tool_use type:agent.message type:user.message type:agent.mcp_tool_use type:agent.custom_tool_use", "", ""},
		{"Cohere v1", "role:CHATBOT role:TOOL", "chat_history tool_results.call", ""},
		{"MCP sampling", "content{}.type", "", ""},
		{"Cline, its ui_messages", "type:say type:ask", "", "pass api_conversation_history as anthropic"},
		{"GitHub Copilot CLI", "type:tool.execution_start", "type:assistant.message+data", ""},
		{"Cursor", "type:tool_call", "toolFormerData", ""},
		{"Zed", "", "Agent{}.content User{}.content tool_uses segments", ""},
		{"VS Code chat", "", "requests+requesterUsername response.kind requests+responderUsername", ""},
		{"Amazon Q or Kiro", "", "assistant{}.ToolUse userInputMessage assistantResponseMessage", ""},
		{"LobeChat", "", "plugin{}.apiName tools.apiName", ""},
		{"DSPy", "tool_name_0", "trajectory", ""},
		{"Dify", "", "agent_thoughts", ""},
		{"n8n", "", "json+pairedItem", ""},
		{"CopilotKit", "type:ActionExecutionMessage type:ResultMessage", "__typename", ""},
		{"LangChain messages with a role", "tool_calls.args content:tool_call content:invalid_tool_call content:function_call content:custom_tool_call", "", `write "type" in place of "role"`},
		{"OpenInference", "message{}.content message.role message.content", "message{}.tool_calls message{}.contents", ""},
	}
}

// foreignError refuses a message with a word that no format knows.
func (d *document) foreignError(m int, s entry) error {
	known := wordList(Repairable()[1:])
	if name, advice := d.foreignName(); name != "" {
		return fmt.Errorf("patch: message %d has %s of %s, which cannot be repaired%s (formats: %s)", m, s, name, advice, known)
	}
	return fmt.Errorf("patch: message %d has %s, which could be a call or a result, but is of no known format; convert the message, or remove that if it is neither (formats: %s)", m, s, known)
}

// named adds the name of the format to an error about messages that are not read.
func (d *document) named(err error) error {
	if name, advice := d.foreignName(); name != "" {
		return fmt.Errorf("%w; the messages are of %s, which cannot be repaired%s", err, name, advice)
	}
	return err
}

func (d *document) foreignName() (name, advice string) {
	has := map[string]bool{}
	for m := range d.messages {
		addWords(has, d.text[d.messages[m].from:d.messages[m].to])
	}
	if d.field != "" || len(d.messages) == 0 {
		addWords(has, d.text)
	}
	for _, f := range foreign() {
		for sign := range strings.FieldsSeq(f.refused + " " + f.signs) {
			all := true
			for word := range strings.SplitSeq(sign, "+") {
				all = all && has[word]
			}
			if all {
				return f.name, "; " + cmp.Or(f.advice, "convert its messages")
			}
		}
	}
	return "", ""
}

// addWords adds all words that a message has, in any vocabulary.
func addWords(has map[string]bool, message string) {
	kind, role, in := text(member(message, "type")), text(member(message, "role")), ""
	if has["type:"+kind], has["role:"+role] = true, true; role == "" && kind != "" {
		in = "." // as in a vocabulary
	}
	for name, v := range members(message) {
		has[name] = has[name] || !absent(v)
		if v[0] == '{' {
			has[kind+"."+name] = has[kind+"."+name] || name == "message"
			for key := range members(v) {
				has[in+name+"{}."+key] = true
			}
		}
		for _, e := range elements(v) {
			list, mark, of := in+name, "/", text(member(e, "type"))
			if has[list+":"+of] = true; of != "" || strings.HasPrefix(name, "tool") {
				mark = "."
			}
			for key, v := range members(e) {
				has[list+mark+key] = true
				if key == "function" && v[0] == '"' {
					has[list+".function:text"] = true
				}
			}
		}
	}
}
