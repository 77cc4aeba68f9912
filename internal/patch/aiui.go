package patch

import "strings"

// aiUIFormat is a list of the AI SDK's UIMessages, which frontends show and send. A
// call and its result are one part of an assistant's message, so no result can be in
// the wrong place.
// https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message
type aiUIFormat struct{ *facts }

func aiUI() format {
	return aiUIFormat{&facts{
		shape: AIUI, anyContent: true,
		claims: "parts:typed parts:tool-* parts:dynamic-tool",
		knows:  "parts:data-* parts:text parts:reasoning parts:file",
	}}
}

// waits reports whether no message of the user follows the call.
func (aiUIFormat) waits(h *history, c *call) bool { return c.message > h.lastUser }

func (f aiUIFormat) read(h *history, m int) {
	var word, parts, content string
	scan(h.at(m), to{"role", &word}, to{"parts", &parts}, to{"content", &content})
	role := text(word)
	if !strings.HasPrefix(parts, "[") {
		h.refuse(m, `it has no list of "parts"`)
	}
	if strings.HasPrefix(content, "[") {
		h.refuse(m, `it has a list as "content" in addition to its "parts"`)
	}
	switch role {
	case "assistant":
		h.addTurn(m).signed = signedParts(parts)
	case "user":
		h.role[m], h.lastUser = user, m
	}
	first := len(h.calls)
	for n, part := range elements(parts) {
		c, ok := aiUICall(h, m, n, part)
		switch {
		case !ok:
		case role != "assistant":
			h.refuse(m, "a call in a message of role %q", role)
		default:
			h.addCall(m, c)
		}
	}
	markRepetitions(h.calls[first:])
}

func aiUICall(h *history, m, n int, part string) (c call, ok bool) {
	var kind, state, output, failure, approval, provider string
	c = callIn(part, "toolCallId", "toolName", "input")
	scan(part, to{"type", &kind}, to{"state", &state}, to{"output", &output}, to{"errorText", &failure}, to{"approval", &approval}, to{"providerExecuted", &provider})
	c.at, kind, state = n, text(kind), text(state)
	if provider == "true" {
		c.kind = hosted
	}
	name, static := strings.CutPrefix(kind, "tool-")
	if static {
		c.name = name
	}
	if !static && kind != "dynamic-tool" {
		return c, false
	}
	c.hasOutput = strings.HasPrefix(state, "output-")
	switch {
	case isNull(c.idText):
		h.refuse(m, "the part %q has no \"toolCallId\"", kind)
	case oneOf(state, "call partial-call result"):
		h.refuse(m, "the part %q has the state %q of AI SDK 4", kind, state)
	case !c.hasOutput && (text(output) != "" || text(failure) != ""):
		h.refuse(m, "the part %q has a result, but the state %q, not one of a result", kind, state)
	}
	c.asked = oneOf(state, "approval-requested approval-responded")
	c.approved, c.denied = member(approval, "approved") == "true", member(approval, "approved") == "false"
	c.placeholder = state == "output-error" && (h.isPlaceholder(failure) || h.matchesTemplate(&c, failure))
	if !c.hasOutput && (state == "input-streaming" || isNull(c.args)) {
		c.streams, c.changedArgs = true, "{}"
		c.broken = state == "input-streaming"
	}
	return c, c.kind != hosted
}

func isNull(value string) bool { return value == "" || value == "null" }

// hosted is the kind of a call that the provider runs itself.
const hosted = "hosted"

func signedParts(parts string) bool {
	for _, p := range elements(parts) {
		if text(member(p, "type")) == "reasoning" && signedOptions(member(p, "providerMetadata")) {
			return true
		}
	}
	return false
}

// markRepetitions marks the open calls of a message that are there twice: with a
// result, or with more complete args.
func markRepetitions(calls []call) {
	type key struct{ id, name string }
	best := map[key]*call{}
	for i := range calls {
		c := &calls[i]
		k := key{c.id, c.name}
		switch b := best[k]; {
		case c.id == "":
		case b == nil:
			best[k] = c
		case !c.hasOutput && (b.hasOutput || !b.streams || c.streams):
			c.repetition = true
		case !b.hasOutput:
			b.repetition = true
			best[k] = c
		}
	}
}

func (f aiUIFormat) render(h *history) {
	t := 0
	for m := range h.messages {
		if h.role[m] != assistant {
			h.copy(m)
			continue
		}
		turn := &h.turns[t]
		t++
		raw := editCalls(h.at(m), "parts", h.calls[turn.from:turn.to], nil, aiUIPatched)
		if m < h.lastUser && h.opts.Server != "off" && strings.Contains(raw, "providerExecuted") {
			raw = closeServerCalls(h, m, t-1, raw)
		}
		h.put(m, raw)
	}
}

// closeServerCalls returns a message with an error for each interrupted call that Anthropic
// runs: its API refuses one without a result.
func closeServerCalls(h *history, m, t int, raw string) string {
	return editMember(raw, "parts", func(parts string) string {
		return editElements(parts, func(n int, part string) (string, bool) {
			c, _ := aiUICall(h, m, n, part)
			if c.kind != hosted || c.hasOutput || !ofServer(c.id) {
				return part, true
			}
			c.content, c.isError = h.aiServerResult(c.id, c.name, c.args)
			h.op(Op{Op: "server_result_added", Turn: t, Message: m, Call: -1, ID: c.id, Name: c.name})
			return aiUIPatched(&c, part), true
		})
	})
}

func aiUIPatched(c *call, part string) string {
	if c.changedName != "" && text(member(part, "type")) != "dynamic-tool" {
		part = setMember(part, "type", quote("tool-"+c.changedName))
		part = c.rewritten(part, "toolCallId", "", "input")
	} else {
		part = c.rewritten(part, "toolCallId", "toolName", "input")
	}
	if c.content == "" {
		return part
	}
	if c.denied && !c.real() {
		return setMember(part, "state", `"output-denied"`)
	}
	state, key, gone := `"output-available"`, "output", "errorText"
	content := c.content
	if c.isError {
		state, key, gone = `"output-error"`, "errorText", "output"
		if content[0] != '"' {
			content = quote(content)
		}
	}
	part = setMember(part, "state", state)
	if !c.approved {
		part = removeMember(part, "approval")
	}
	if raw := member(part, "rawInput"); raw != "" { // which ai 7 announces as removed
		part = removeMember(removeMember(part, "rawInput"), "inputEncoding")
		if c.hasOutput && isNull(member(part, "input")) {
			part = setMember(part, "input", raw)
		}
	}
	if !c.hasOutput && isNull(member(part, "input")) {
		part = setMember(part, "input", "{}")
	}
	return setMember(removeMember(part, gone), key, content)
}

// message returns the part of a call, because a result is no message of its own.
func (aiUIFormat) message(c *call) string {
	return `{"type":"dynamic-tool","toolName":` + quote(c.finalName()) + `,"toolCallId":` + c.finalIDText() +
		`,"state":"output-error","input":{},"errorText":` + c.content + `}`
}
