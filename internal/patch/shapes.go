package patch

import (
	"fmt"
	"slices"
	"strings"
)

// format is what the rules need to know of a shape of histories.
type format interface {
	shape() Shape
	// claims tells whether a message that looks like that is of this shape only.
	claims(l traits) bool
	// read adds the turns, the calls and the results of message m.
	read(h *history, m int)
	// fits tells whether a result is of a kind that can answer a call.
	canAnswer(c *call, r *result) bool
	// named tells whether a call has a name at all.
	hasName(c *call) bool
	// onlyResults tells whether a message holds results and nothing else.
	onlyResults(h *history, m int) bool
	// render puts out all messages, as was decided.
	render(h *history)
}

// formats are the shapes that can be repaired; one is one file. What two of
// them claim, the first gets.
func formats() []format {
	return []format{responsesFormat{}, langchainFormat{}, anthropicFormat{}, openAIFormat{}}
}

// Auto is the shape that a history shows.
const Auto Shape = "auto"

// Repairable are the shapes that Repair takes, Auto first.
func Repairable() []Shape {
	var names []Shape
	for _, f := range formats() {
		names = append(names, f.shape())
	}
	slices.Sort(names)
	return append([]Shape{Auto}, names...)
}

// formatOf gives the format of that name, or the one that the messages show.
func formatOf(shape Shape, d *document) (format, error) {
	if shape == "" || shape == Auto {
		return detectFormat(d)
	}
	for _, f := range formats() {
		if f.shape() == shape {
			return f, nil
		}
	}
	return nil, fmt.Errorf("patch: unknown history format %q (known: %s)", shape, wordList(Repairable()))
}

// recognise finds the shape of a history: the first message that only one
// shape has decides, and one of another shape is an error.
func detectFormat(d *document) (format, error) {
	var found format
	where, all := 0, formats()
	for m := range d.messages {
		l := traitsOf(d.at(m))
		for _, f := range all {
			if !f.claims(l) {
				continue
			}
			if found != nil && found.shape() != f.shape() {
				return nil, fmt.Errorf("patch: the format is ambiguous: message %d is of %s and message %d of %s: name one", where, found.shape(), m, f.shape())
			}
			if found == nil {
				found, where = f, m
			}
			break
		}
	}
	switch {
	case found != nil:
		return found, nil
	case d.field == "input":
		return responsesFormat{}, nil
	}
	return plainFormat(d)
}

// look is what tells the shapes of a message apart.
type traits struct {
	kind, role            string // "type" and "role"
	lc, callID, toolCalls bool   // it has the field of that name
	anthropic             bool   // its content has a block that only Anthropic has
}

func traitsOf(message string) traits {
	var l traits
	for name, v := range members(message) {
		switch name {
		case "type":
			l.kind = text(v)
		case "role":
			l.role = text(v)
		case "lc":
			l.lc = true
		case "call_id":
			l.callID = true
		case "tool_calls":
			l.toolCalls = true
		case "content":
			for _, block := range elements(v) {
				l.anthropic = l.anthropic || anthropicBlock(text(member(block, "type")))
			}
		}
	}
	return l
}

// plain is the shape of a history without anything that only one has: with
// roles only it is the same in OpenAI's chat and Anthropic's messages, and
// there is nothing to repair either.
func plainFormat(d *document) (format, error) {
	for m := range d.messages {
		if r := text(member(d.at(m), "role")); r == "" {
			return nil, fmt.Errorf("patch: message %d: neither its role nor its type is known; name the format (known: %s)", m, wordList(Repairable()[1:]))
		}
	}
	return openAIFormat{}, nil
}

// oneOf tells whether a word is in a list of words.
func oneOf(word, list string) bool {
	for w := range strings.SplitSeq(list, " ") {
		if w == word && w != "" {
			return true
		}
	}
	return false
}
