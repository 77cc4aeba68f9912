package patch

import (
	"strings"

	"streamer/internal/events"
)

// placeholders are the texts by which our own synthetic results and those of
// other systems are known, with places for the call's name and id. Where the
// others were found is in docs/repair.md.
func placeholders() []string {
	texts := []string{
		wasCancelled, einoCanceled, einoCancelledZH, couldNotBeExecuted,
		"Tool call {name} with id {id} did not complete - no result was recorded. It may have been cancelled or interrupted.",
		"Tool call '{name}' with id '{id}' was interrupted before completion.",
		"[Tool call was interrupted and did not return a result.]",
		"[Tool execution was interrupted]",
		"[System: Tool execution skipped/interrupted by user. No result provided for tool '{name}'.]",
		"Tool execution skipped - user provided follow-up message",
		"Tool execution skipped - conversation ended before the tool result was available.",
		"The tool call was interrupted before a result was produced.",
		"Tool was interrupted.",
		"Tool execution was interrupted before completion.",
		"Task was interrupted before this tool call could be completed.",
		"Context condensation triggered. Tool execution deferred.",
		"[migration] Tool result missing in legacy conversation history.",
		"[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
		"Error: user cancelled assistant tool calling",
		"tool call was interrupted and did not produce a result, you may retry",
		"The tool execution result was lost due to context management truncation.",
		"No result provided",
		"Tool execution was aborted",
		"Tool canceled by user",
		"User cancelled tool call by sending a new message.",
		"[Request interrupted by user for tool use]",
		"aborted",
	}
	for _, reason := range reasons() {
		for _, lang := range events.Langs {
			texts = append(texts, events.Sentence(reason, lang))
		}
	}
	return texts
}

// pattern is a text with places, as the parts around these.
type pattern []string

func compilePatterns(texts []string) []pattern {
	var out []pattern
	for _, t := range texts {
		out = append(out, compilePattern(t))
	}
	return out
}

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

// begins tells whether a text that begins with s, of which no more is known,
// could match.
func (p pattern) mayMatchPrefix(s string) bool {
	return strings.HasPrefix(p[0], s) || strings.HasPrefix(s, p[0])
}

// maxPlaceholder bounds the texts that are looked at.
const maxPlaceholder = 2 * maxTemplate

// isPlaceholder tells whether the content of a result, as it is written, is a
// text that says that there is none.
func (h *history) isPlaceholder(content string) bool {
	content = singleText(content)
	if len(content) < 2 || len(content) > maxPlaceholder || content[0] != '"' {
		return false
	}
	plain, _, escaped := strings.Cut(content[1:len(content)-1], `\`)
	said := ""
	for _, p := range h.placeholders {
		if !p.mayMatchPrefix(plain) {
			continue
		}
		if said == "" {
			if said = plain; escaped {
				said = text(content)
			}
		}
		if p.match(said) {
			return true
		}
	}
	return false
}

// fromTemplate tells whether the content of a result is what an earlier repair
// with this template gave the call.
func (h *history) matchesTemplate(c *call, content string) bool {
	return text(singleText(content)) == events.Fill(h.opts.Template, c.name, c.id)
}

// onlyText gives the string in a list of one text block or string, and what is
// no list as it is.
func singleText(content string) string {
	if !strings.HasPrefix(content, "[") {
		return content
	}
	found := ""
	for n, block := range elements(content) {
		t := block
		if block[0] == '{' {
			t = member(block, "text")
		}
		if t == "" && text(member(block, "stdout")) == "" { // of a shell call
			t = member(block, "stderr")
		}
		if n > 0 || t == "" {
			return ""
		}
		found = t
	}
	return found
}
