package patch

import (
	"cmp"
	"strings"
)

// aguiFormat is a list of AG-UI's messages, as in a RunAgentInput.
// https://docs.ag-ui.com/concepts/messages
type aguiFormat struct{ *facts }

func agui() format {
	return messageShape{aguiFormat{&facts{
		shape:  AGUI,
		claims: "toolCalls toolCallId role:activity role:reasoning",
		knows:  "toolCalls.function role:tool role:developer", calls: "toolCalls", resultID: "toolCallId",
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
		if !isEmpty(calls) && h.isCopy(m, text(id)) {
			h.signedNext = false
			h.addTurn(m)
			return
		}
		signed, h.signedNext = signed || h.signedNext, false
		for _, c := range elements(calls) {
			signed = signed || text(member(c, "encryptedValue")) != ""
		}
		h.addTurn(m).signed = signed
		h.addOpenAICalls(m, calls, id)
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

// message returns a new result. Its id is made of that of the call's message, if there is
// one.
func (aguiFormat) message(c *call) string {
	id := c.finalID() + "-result"
	if of := text(c.item); of != "" {
		id = of + "-" + id
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
		`,"type":"function","function":{"name":` + quote(cmp.Or(r.name, "unknown")) + `,"arguments":"{}"}}]}`
	return turn, setMember(raw, "toolCallId", id)
}

func (aguiFormat) isReasoning(message string) bool {
	return text(member(message, "role")) == "reasoning"
}
