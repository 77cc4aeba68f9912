package patch

import (
	"strings"

	"streamer/internal/events"
)

// logged returns the outcome of a call in the log.
func (h *history) logged(c *call) (Outcome, bool) {
	if c.outcome == 0 {
		return Outcome{}, false
	}
	return h.opts.Log[c.outcome-1], true
}

// replaceable reports whether the log has a real result for a call whose result in
// the history is a placeholder, and whether the options allow replacing it.
func (h *history) replaceable(c *call) bool {
	o, ok := h.logged(c)
	placeholder := c.placeholder || c.answer >= 0 && h.results[c.answer].placeholder
	if !ok || !o.real() || !placeholder || h.opts.Dangling == "leave" || h.keptUnanswerable(c) {
		return false
	}
	switch h.opts.Late {
	case "replace":
		return true
	case "auto":
		return !h.signedBetween(c, len(h.turns)-1)
	}
	return c.turn == len(h.turns)-1
}

// The reasons of results that are a tool's own.
const (
	// The reasons of results that are a tool's own.
	reasonGiven = "given" // by the caller
	reasonLog   = "log"   // of the session
)

// fillContent sets the content of a call's new result: the result from the options,
// the result from the log, or a text with the reason why there is none.
func (h *history) fillContent(c *call) {
	logged, inLog := h.logged(c)
	switch content, ok := h.opts.Results[c.ref()]; {
	case ok:
		c.content, c.reason = h.format.content(string(content)), reasonGiven
		return
	case inLog && logged.real():
		if logged.Content == nil {
			h.wanted = append(h.wanted, logged.At)
			logged.Content = []byte(`""`)
		}
		c.content, c.reason, c.isError = h.format.content(string(logged.Content)), reasonLog, logged.IsError
		return
	}
	reason := events.TextInterrupted
	switch word, ok := h.opts.Reasons[c.ref()]; {
	case c.denied:
		reason = events.TextDenied
	case ok:
		reason = events.Text(word)
	case inLog && logged.Reason != "":
		reason = logged.Reason
	case c.broken:
		reason = events.TextArgs
	}
	c.reason, c.isError = string(reason), true
	c.content = quote(h.syntheticText(reason, c.finalName(), c.finalID(), c.args))
}

func (h *history) syntheticText(reason events.Text, name, id, args string) string {
	template := h.template(reason, name)
	if template == "" {
		template = events.Sentence(reason, h.opts.Lang)
	}
	return fill(template, name, id, args)
}

func (h *history) template(reason events.Text, tool string) string {
	if len(h.opts.Templates) > 0 {
		for _, key := range []string{tool + ":" + string(reason), tool, string(reason)} {
			if t := h.opts.Templates[key]; t != "" {
				return t
			}
		}
	}
	return h.opts.Template
}

// fill returns a template with a call's name, id and args, which are raw. The words about
// the id are left out if there is none.
func fill(template, name, id, args string) string {
	if id == "" {
		template = withoutID(template)
	}
	parts := strings.Split(template, "{args}")
	for i := range parts {
		parts[i] = events.Fill(parts[i], name, id)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts, cut(text(args), maxShown))
}

// maxShown is the maximum length of args in a text, in bytes.
const maxShown = 1 << 10

func withoutID(template string) string {
	return strings.NewReplacer(" with id {id}", "", "（ID 为 {id}）", " ").Replace(template)
}

// contentOf returns a JSON value as the content of a result. A string or a list of
// typed blocks stays; any other value becomes a string with its JSON.
func contentOf(value string) string {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, `"`) || each(value, func(b string) bool { return member(b, "type") != "" }) {
		return value
	}
	return quote(value)
}
