package patch

import "strings"

// aguiFormat is a list of AG-UI's messages, as in a RunAgentInput.
// https://docs.ag-ui.com/concepts/messages
type aguiFormat struct{ *facts }

func agui() format {
	return messageShape{aguiFormat{&facts{
		shape:  AGUI,
		claims: "toolCalls toolCallId role:activity role:reasoning",
		knows:  "toolCalls.function role:tool role:developer", resultID: "toolCallId",
	}}}
}

func (aguiFormat) read(h *history, m int) {
	var word, id, calls, content, callID, encrypted string
	scan(h.at(m), to{"role", &word}, to{"id", &id}, to{"toolCalls", &calls}, to{"content", &content}, to{"toolCallId", &callID}, to{"encryptedValue", &encrypted})
	role, signed := text(word), text(encrypted) != ""
	switch {
	case !strings.HasPrefix(id, `"`):
		h.refuse(m, `it has no "id", which every message of ag-ui has; histories of the SDKs of Mistral and OpenRouter, which write "toolCalls" too, cannot be repaired`)
	case role != "assistant" && !isEmpty(calls):
		h.refuse(m, `"toolCalls" in a message of role %q`, role)
	case role != "tool" && text(callID) != "":
		h.refuse(m, `"toolCallId" in a message of role %q`, role)
	}
	switch role {
	case "assistant":
		signed, h.signedNext = signed || h.signedNext, false
		for _, c := range elements(calls) {
			signed = signed || text(member(c, "encryptedValue")) != ""
		}
		h.addTurn(m).signed = signed
		h.addOpenAICalls(m, calls)
	case "tool":
		h.role[m] = tool
		h.addResult(m, result{id: text(callID), idText: callID, content: content})
	case "user":
		h.role[m] = user
	case "activity":
		h.role[m] = aside
	case "reasoning":
		h.role[m] = aside
		h.signedNext = h.signedNext || signed
	}
}

// putTurn writes a turn and its results. What stood between the call and its
// results stays there.
func (f aguiFormat) putTurn(h *history, t int) {
	turn := &h.turns[t]
	raw := h.at(turn.first)
	if h.changed(turn) {
		raw = editCalls(raw, "toolCalls", h.calls[turn.from:turn.to], nil, openAIPatched)
	}
	h.put(turn.first, raw)
	next, id := turn.last+1, text(member(raw, "id"))
	for _, a := range h.answers(turn.from, turn.to, turn.directly) {
		if a.result < 0 {
			h.add(aguiResult(&h.calls[a.call], id))
			continue
		}
		r := &h.results[a.result]
		for ; turn.directly(r) && next < r.message; next++ {
			if h.role[next] == aside {
				h.role[next] = written
				h.copy(next)
			}
		}
		h.put(r.message, f.result(h, r))
	}
}

func (aguiFormat) message(c *call) string { return aguiResult(c, "") }

// aguiResult returns the new result of a call, which is in the message with that id.
func aguiResult(c *call, id string) string {
	if id += "-" + c.finalID() + "-result"; id[0] == '-' {
		id = id[1:]
	}
	m := `{"id":` + quote(id) + `,"role":"tool","toolCallId":` + c.finalIDText() + `,"content":` + c.content
	if c.isError && strings.HasPrefix(c.content, `"`) {
		m += `,"error":` + c.content
	}
	return m + "}"
}

// userText has the id of the message that it replaces.
func (aguiFormat) userText(h *history, m int, content string) string {
	return `{"id":` + member(h.at(m), "id") + `,"role":"user","content":` + content + `}`
}

func (aguiFormat) adopt(h *history, r *result) (turn, result string) {
	raw, id := h.at(r.message), quote(r.changedID)
	turn = `{"id":` + quote(text(member(raw, "id"))+"-call") + `,"role":"assistant","toolCalls":[{"id":` + id +
		`,"type":"function","function":{"name":` + quote(adoptedName(r)) + `,"arguments":"{}"}}]}`
	return turn, setMember(raw, "toolCallId", id)
}

func (aguiFormat) isReasoning(message string) bool {
	return text(member(message, "role")) == "reasoning"
}
