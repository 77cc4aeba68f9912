package patch

import (
	"slices"
	"strings"

	"streamer/internal/events"
	"streamer/internal/patch/profile"
)

// writers returns the texts of placeholders that other systems write, and their writers.
// docs/placeholders.md is made of it.
func writers() [][2]string {
	return append(profile.Texts(), [][2]string{
		{"Tool call {name} with id {id} did not complete - no result was recorded. It may have been cancelled or interrupted.", "deepagents, later releases"},
		{"Tool call '{name}' with id '{id}' was interrupted before completion.", "LangGraph's server"},
		{"[Tool call was interrupted and did not return a result.]", "DeerFlow"},
		{"[Tool execution was interrupted]", "OpenCode"},
		{"[System: Tool execution skipped/interrupted by user. No result provided for tool '{name}'.]", "LiteLLM"},
		{"Tool execution skipped - user provided follow-up message", "Microsoft Agent Framework"},
		{"Tool execution skipped - conversation ended before the tool result was available.", "Microsoft Agent Framework"},
		{"The tool call was interrupted before a result was produced.", "Pydantic AI"},
		{"Tool was interrupted.", "Strands Agents"},
		{"Tool execution was interrupted before completion.", "Roo Code"},
		{"Task was interrupted before this tool call could be completed.", "Roo Code"},
		{"Context condensation triggered. Tool execution deferred.", "Roo Code"},
		{"[migration] Tool result missing in legacy conversation history.", "Cline"},
		{"[Tool result missing due to internal error]", "Claude Code"},
		{"[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]", "Claude Code"},
		{"[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.", "OpenClaw"},
		{"Error: user cancelled assistant tool calling", "Crush"},
		{"tool call was interrupted and did not produce a result, you may retry", "Crush"},
		{"The tool execution result was lost due to context management truncation.", "Gemini CLI"},
		{"No result provided", "pi"},
		{"Tool execution was aborted", "oh-my-pi"},
		{"Tool canceled by user", "Zed"},
		{"User cancelled tool call by sending a new message.", "assistant-ui"},
		{"[Request interrupted by user for tool use]", "Claude Code"},
		{"aborted", "Codex"},
	}...)
}

// placeholders returns the texts that identify the synthetic results of this package and
// of other systems.
func placeholders() (texts []string) {
	for _, w := range writers() {
		texts = append(texts, w[0])
	}
	for _, reason := range reasons() {
		for _, lang := range events.Langs {
			texts = append(texts, events.Sentence(reason, lang), withoutID(events.Sentence(reason, lang)))
		}
	}
	return texts
}

// pattern is a text with the places {name} and {id}, as the parts between them.
type pattern []string

func compilePattern(text string) pattern {
	return strings.Split(strings.ReplaceAll(text, "{name}", "{id}"), "{id}")
}

func (p pattern) match(s string) bool {
	last := len(p) - 1
	if last == 0 {
		return s == p[0]
	}
	if !strings.HasPrefix(s, p[0]) {
		return false
	}
	s = s[len(p[0]):]
	for _, part := range p[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, p[last])
}

func (p pattern) mayMatchPrefix(s string) bool {
	return strings.HasPrefix(p[0], s) || strings.HasPrefix(s, p[0])
}

// maxPlaceholder is the maximum length of a text that is compared with the
// patterns, in bytes.
const maxPlaceholder = 2 * maxTemplate

func (h *history) isPlaceholder(content string) bool {
	content = singleText(content)
	if len(content) < 2 || len(content) > maxPlaceholder || content[0] != '"' {
		return false
	}
	plain, _, escaped := strings.Cut(content[1:len(content)-1], `\`)
	decoded := ""
	for _, p := range h.placeholders {
		if !p.mayMatchPrefix(plain) {
			continue
		}
		if decoded == "" {
			if decoded = plain; escaped {
				decoded = text(content)
			}
		}
		if p.match(decoded) {
			return true
		}
	}
	return false
}

// matchesTemplate reports whether the content of a result is the text that an
// earlier repair wrote for the call from the same options.
func (h *history) matchesTemplate(c *call, content string) bool {
	if h.opts.Template == "" && len(h.opts.Templates) == 0 {
		return false
	}
	got := text(singleText(content))
	return slices.ContainsFunc(reasons(), func(reason events.Text) bool {
		t := h.template(reason, c.name)
		return t != "" && got == fill(t, c.name, c.id, c.args)
	})
}

// singleText returns the JSON string of a list with one text block or one string, or
// of Gemini's object with one. It returns "" for any other list or object, and
// another value unchanged.
func singleText(content string) string {
	if strings.HasPrefix(content, "{") {
		found := ""
		for name, v := range members(content) {
			if found != "" || !oneOf(name, "error output result") {
				return ""
			}
			found = v
		}
		return found
	}
	if !strings.HasPrefix(content, "[") {
		return content
	}
	found := ""
	for n, block := range elements(content) {
		t := block
		if block[0] == '{' {
			if t = member(block, "text"); t == "" {
				t = member(block, "content") // LangChain for Elixir
			}
		}
		if t == "" && text(member(block, "stdout")) == "" { // output of a shell call
			t = member(block, "stderr")
		}
		if n > 0 || t == "" {
			return ""
		}
		found = t
	}
	return found
}
