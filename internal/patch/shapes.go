package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Shape is the format of a history.
type Shape string

// The shapes that synthetic results are written in.
const (
	LangChainEx Shape = "langchain-ex"
	LangChain   Shape = "langchain"
	OpenAI      Shape = "openai"
	Anthropic   Shape = "anthropic"
	Responses   Shape = "responses"
	Bedrock     Shape = "bedrock"
	Gemini      Shape = "gemini"
	AIUI        Shape = "ai-ui"
	AIModel     Shape = "ai-model"
	AGUI        Shape = "ag-ui"
)

// Auto makes Repair detect the shape from the messages.
const Auto Shape = "auto"

// shapes lists the formats; each is one file.
var shapes = [...]format{
	responsesFormat{},
	langchainFormat{},
	anthropicFormat{},
	openAIFormat{},
	bedrockFormat{},
	geminiFormat{},
	langchainExFormat{},
	aguiFormat{},
	aiModelFormat{},
	aiUIFormat{},
}

// format writes synthetic results of one shape.
type format interface {
	shape() Shape
	// message returns the synthetic result of a call as a message.
	message(c *call) string
}

// historyFormat is a format whose histories can be repaired.
type historyFormat interface {
	format
	// vocabulary has the words by which the shape is recognised.
	vocabulary() vocabulary
	// read adds the turn, the calls and the results of message m.
	read(h *history, m int)
	// canAnswer reports whether a result is of a kind that answers the call.
	canAnswer(c *call, r *result) bool
	// hasName reports whether calls of the call's kind have a name.
	hasName(c *call) bool
	// content returns the content of a new result, from the JSON of a real one.
	content(value string) string
	// waits reports whether an open call waits for a person, and so stays open.
	waits(h *history, c *call) bool
	// onlyResults reports whether a message consists of results only.
	onlyResults(h *history, m int) bool
	// render writes all messages to the output.
	render(h *history)
}

// commonFormat has what holds for most formats: a result can answer any call,
// every call has a name, a result is a message of its own, and reasoning is not.
type commonFormat struct{}

func (commonFormat) canAnswer(*call, *result) bool { return true }

func (commonFormat) hasName(*call) bool { return true }

func (commonFormat) content(value string) string { return contentOf(value) }

func (commonFormat) waits(*history, *call) bool { return false }

func (commonFormat) onlyResults(h *history, m int) bool { return h.role[m] == tool }

func (commonFormat) note(h *history, r *result) string { return h.note(r) }

func (commonFormat) keep(h *history, r *result) { h.copy(r.message) }

func (commonFormat) isReasoning(string) bool { return false }

// Shapes returns all shapes that Synthetic writes, sorted.
func Shapes() []Shape {
	var names []Shape
	for _, f := range shapes {
		names = append(names, f.shape())
	}
	slices.Sort(names)
	return names
}

// Repairable returns the shapes that Repair accepts: Auto, then the others,
// sorted.
func Repairable() []Shape {
	var names []Shape
	for _, f := range shapes {
		if _, ok := f.(historyFormat); ok {
			names = append(names, f.shape())
		}
	}
	slices.Sort(names)
	return append([]Shape{Auto}, names...)
}

// formatOf returns the format of that name, or the one that the messages show. A
// message with a structural key of another shape is an error.
func formatOf(shape Shape, d *document) (historyFormat, error) {
	l := newLexicon()
	if shape == "" || shape == Auto {
		f, err := recognise(d, l)
		if f == nil && err == nil {
			f, err = plainFormat(d)
		}
		if err != nil {
			return nil, err
		}
		return f, checkSigns(d, l, f)
	}
	for _, f := range shapes {
		if known, ok := f.(historyFormat); ok && f.shape() == shape {
			return known, checkSigns(d, l, known)
		}
	}
	return nil, fmt.Errorf("patch: unknown history format %q (known: %s)", shape, wordList(Repairable()))
}

// plainFormat returns the format of a history without any sign of a shape. A
// history that only has roles and texts is the same in several shapes, and needs no
// repair.
func plainFormat(d *document) (historyFormat, error) {
	switch d.field {
	case "input":
		return responsesFormat{}, nil
	case "contents":
		return geminiFormat{}, nil
	}
	for m := range d.messages {
		switch raw := d.at(m); {
		case text(member(raw, "type")) == "message":
			return responsesFormat{}, nil
		case text(member(raw, "role")) == "tool" && strings.HasPrefix(member(raw, "content"), "[") && isEmpty(member(raw, "content")):
			return aiModelFormat{}, nil // the only one whose results are parts of such a message
		case text(member(raw, "role")) == "":
			return nil, fmt.Errorf("patch: message %d: neither its role nor its type is known; name the format (known: %s)", m, wordList(Repairable()[1:]))
		case !hasContent(raw):
			return nil, fmt.Errorf("patch: message %d: it has no content of a known form; name the format (known: %s)", m, wordList(Repairable()[1:]))
		}
	}
	return openAIFormat{}, nil
}

func hasContent(message string) bool {
	for name, v := range members(message) {
		if name == "content" && strings.ContainsAny(v[:1], `"[n`) || oneOf(name, "parts tool_calls toolCalls function_call refusal audio") {
			return true
		}
	}
	return false
}

// oneOf reports whether a word is in a list of words separated by spaces.
func oneOf(word, list string) bool {
	for w := range strings.SplitSeq(list, " ") {
		if w == word && w != "" {
			return true
		}
	}
	return false
}
