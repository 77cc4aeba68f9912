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

	ClaudeCode    Shape = "claude-code"
	OpenAIAgents  Shape = "openai-agents"
	OpenTelemetry Shape = "otel"
)

// Auto makes Repair detect the shape from the messages.
const Auto Shape = "auto"

// shapes lists the formats; each is one file.
var shapes = [...]format{
	responses(), langchain(), anthropic(), openAI(), bedrock(), gemini(), langchainEx(), agui(), aiModel(), aiUI(),
	claudeCode(), openAIAgents(), openTelemetry(),
}

// facts are what distinguishes a format from the others, apart from its code. The methods
// are those of most formats: a result can answer any call, every call has a name, a result
// is a message of its own, and reasoning is not.
type facts struct {
	shape         Shape
	claims, knows string   // its vocabulary
	calls         string   // the member of a message that has its calls, in OpenAI's form
	resultID      string   // the member of a result that has the id of its call
	inResult      string   // the member of a result that has its members, "" for none
	anyContent    bool     // the content of a new result can be any JSON
	server        []string // words of which each message with a server tool has one

	// Of formats whose results are blocks:

	list   string // the member of a message that has the blocks
	blocks string // the members by which the kind of a block is known, "" if it has a type
	// apart: results are a message of their own, unless the next one has some of them.
	// Otherwise they are the first blocks of the user's message.
	apart bool
}

func (f *facts) about() *facts { return f }

func (*facts) canAnswer(*call, *result) bool { return true }

func (*facts) hasName(*call) bool { return true }

func (f *facts) content(value string) string {
	if f.anyContent {
		return strings.TrimSpace(value)
	}
	return contentOf(value)
}

func (*facts) waits(*history, *call) bool { return false }

func (*facts) refuseOutput(*history) {}

func (*facts) serverCall(string) (id, name string, ok bool) { return "", "", false }

func (*facts) serverAnswer(string) string { return "" }

func (*facts) serverError(*history, string) string { return "" }

func (*facts) onlyResults(h *history, m int) bool { return h.role[m] == tool }

func (f *facts) withCallID(raw string, c *call, r *result) string {
	if id := c.finalID(); id != r.id {
		return f.withID(raw, id)
	}
	return raw
}

func (f *facts) withID(raw, id string) string {
	if f.inResult == "" {
		return setMember(raw, f.resultID, quote(id))
	}
	return editMember(raw, f.inResult, func(result string) string { return setMember(result, f.resultID, quote(id)) })
}

// format reads and writes histories of one shape.
type format interface {
	rules
	// read adds the turn, the calls and the results of message m.
	read(h *history, m int)
	// render writes all messages to the output.
	render(h *history)
}

// rules are what a repair asks about a shape.
type rules interface {
	about() *facts
	// message returns the synthetic result of a call as a message.
	message(c *call) string
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
	// serverCall reads a block of the model and reports whether it is a call that the
	// provider runs.
	serverCall(block string) (id, name string, ok bool)
	// serverAnswer returns the id of such a call if a block is its result, otherwise "".
	serverAnswer(block string) string
	// serverError returns the error result of an interrupted one, "" if its type is unknown.
	serverError(h *history, block string) string
	// refuseOutput reports what the provider refuses in the output and the repair does not
	// change.
	refuseOutput(h *history)
}

// Shapes returns all shapes that Synthetic writes, sorted.
func Shapes() []Shape {
	var names []Shape
	for _, f := range shapes {
		names = append(names, f.about().shape)
	}
	slices.Sort(names)
	return names
}

// Repairable returns the shapes that Repair accepts: Auto, then the others,
// sorted.
func Repairable() []Shape { return append([]Shape{Auto}, Shapes()...) }

func formatNamed(shape Shape) format {
	for _, f := range shapes {
		if f.about().shape == shape {
			return f
		}
	}
	return nil
}

// plainFormat returns the format of a history without any sign of a shape. A
// history that only has roles and texts is the same in several shapes, and needs no
// repair.
func plainFormat(d *document) (format, error) {
	switch d.field {
	case "input", "output":
		return formatNamed(Responses), nil
	case "contents":
		return formatNamed(Gemini), nil
	}
	for m := range d.messages {
		var kind, role, content string
		scan(d.at(m), to{"type", &kind}, to{"role", &role}, to{"content", &content})
		switch {
		case text(kind) == "message" && text(role) != "":
			return formatNamed(Responses), nil
		case text(role) == "tool" && strings.HasPrefix(content, "[") && isEmpty(content):
			return formatNamed(AIModel), nil // the only one whose results are parts of such a message
		case text(role) == "":
			return nil, fmt.Errorf("patch: message %d: neither its role nor its type is known; name the format (known: %s)", m, wordList(Shapes()))
		case !hasContent(d.at(m)):
			return nil, fmt.Errorf("patch: message %d: it has no content of a known form; name the format (known: %s)", m, wordList(Shapes()))
		}
	}
	return formatNamed(OpenAI), nil
}

func hasContent(message string) bool {
	for name, v := range members(message) {
		if name == "content" && strings.ContainsAny(v[:1], `"[n`) || oneOf(name, "parts tool_calls toolCalls function_call refusal audio") {
			return true
		}
	}
	return false
}

// inList returns words with what a vocabulary has before them, each behind a space.
func inList(before, words string) (list string) {
	for w := range strings.FieldsSeq(words) {
		list += " " + before + w
	}
	return list
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
