package patch_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"streamer/internal/patch"
)

// The validator finds what a provider would refuse in a history. It shares no
// code with the repair and is simple and slow. It cannot find an error that both
// have in common.

// violation is a broken rule and the index of the message that breaks it. For a
// call without a result this is the first message that should be a result; in
// Responses it is the call itself.
type violation struct {
	Message int
	Rule    string
}

func (v violation) String() string { return fmt.Sprintf("%d:%s", v.Message, v.Rule) }

type object = map[string]any

// validate returns the rules that the messages break, in order: those of the shape,
// and those of the provider about the form of ids and about adjacency.
func validate(shape patch.Shape, provider string, messages []object) []violation {
	v := validator{provider: provider}
	switch shape {
	case patch.Bedrock:
		v.alternate(messages)
		v.converseTools(joined(messages))
	case patch.LangChainEx:
		v.elixirArgs(messages)
	}
	shape, messages = plain(shape, messages)
	switch shape {
	case patch.Gemini:
		v.gemini(messages, false)
	case patch.OpenAI, patch.LangChain, patch.AGUI:
		v.chat(shape, messages)
	case patch.AIModel:
		v.aiModel(messages)
	case patch.AIUI:
		v.aiUI(messages)
	case patch.Anthropic:
		v.anthropic(messages)
	case patch.Responses:
		v.responses(messages)
	default:
		panic("no rules for shape " + shape)
	}
	slices.SortFunc(v.found, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Rule, b.Rule))
	})
	return v.found
}

type validator struct {
	provider string
	found    []violation
}

func (v *validator) breaks(message int, rule string) {
	v.found = append(v.found, violation{message, rule})
}

// seenCall is a call in any shape.
type seenCall struct {
	id, name string
	input    any
}

// idForms has the valid ids of providers.
var idForms = map[string]*regexp.Regexp{
	"anthropic": regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	"bedrock":   regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	"gemini":    regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	"mistral":   regexp.MustCompile(`^[a-zA-Z0-9]{9}$`),
}

// calls checks the calls of one message.
func (v *validator) calls(at int, calls []seenCall) {
	ids := map[string]int{}
	again := false
	for _, c := range calls {
		ids[c.id]++
		again = again || ids[c.id] > 1
		if c.name == "" {
			v.breaks(at, "empty_name")
		}
		form := idForms[v.provider]
		switch {
		case c.id == "":
			v.breaks(at, "empty_call_id")
		case form != nil && !form.MatchString(c.id):
			v.breaks(at, "bad_id")
		}
	}
	if again {
		v.breaks(at, "duplicate_call_id")
	}
}

// chat checks that the results of an assistant's message directly follow it, one
// for each call.
func (v *validator) chat(shape patch.Shape, messages []object) {
	open, closed := map[string]int{}, map[string]bool{}
	end := func(at int) {
		for _, n := range open {
			for range n {
				v.breaks(at, "unanswered_call")
			}
		}
		open, closed = map[string]int{}, map[string]bool{}
	}
	for i, m := range messages {
		kind, m := chatKind(shape, m)
		if shape == patch.AGUI && (kind == "activity" || kind == "reasoning") {
			continue
		}
		if kind == "tool" {
			id := str(m["tool_call_id"]) + str(m["toolCallId"])
			switch {
			case open[id] > 0:
				open[id]--
				closed[id] = true
			case closed[id]:
				v.breaks(i, "duplicate_result")
			default:
				v.breaks(i, "orphan_result")
			}
			continue
		}
		end(i)
		if kind == "assistant" {
			calls := chatCalls(shape, m)
			v.calls(i, calls)
			for _, c := range calls {
				open[c.id]++
			}
		}
	}
	end(len(messages))
}

// chatKind returns the role of a chat message and its fields, for all of
// LangChain's forms.
func chatKind(shape patch.Shape, m object) (string, object) {
	if shape == patch.OpenAI || shape == patch.AGUI {
		return str(m["role"]), m
	}
	kind := str(m["type"])
	if data, ok := m["data"].(object); ok {
		m = data
	}
	if kwargs, ok := m["kwargs"].(object); ok {
		path := list(m["id"])
		kind, m = str(path[len(path)-1]), kwargs
	}
	switch strings.TrimSuffix(kind, "Chunk") {
	case "ai", "AIMessage", "assistant":
		return "assistant", m
	case "tool", "ToolMessage":
		return "tool", m
	}
	return kind, m
}

// chatCalls returns the calls of an assistant's message. In LangChain, calls in
// content blocks or in the provider's raw form count if no other view has their id.
func chatCalls(shape patch.Shape, m object) []seenCall {
	var calls []seenCall
	if shape == patch.OpenAI || shape == patch.AGUI {
		for _, c := range append(objects(m["tool_calls"]), objects(m["toolCalls"])...) {
			calls = append(calls, openAICall(c))
		}
		return calls
	}
	for _, c := range append(objects(m["tool_calls"]), objects(m["invalid_tool_calls"])...) {
		calls = append(calls, seenCall{str(c["id"]), str(c["name"]), c["args"]})
	}
	var more []seenCall
	for _, c := range objects(m["content"]) {
		switch c["type"] {
		case "tool_use":
			more = append(more, seenCall{str(c["id"]), str(c["name"]), c["input"]})
		case "function_call":
			more = append(more, seenCall{str(c["call_id"]), str(c["name"]), c["arguments"]})
		}
	}
	if extra, ok := m["additional_kwargs"].(object); ok && len(calls) == 0 {
		for _, c := range objects(extra["tool_calls"]) {
			more = append(more, openAICall(c))
		}
	}
	for _, c := range more {
		if !slices.ContainsFunc(calls, func(o seenCall) bool { return o.id == c.id }) {
			calls = append(calls, c)
		}
	}
	return calls
}

func openAICall(c object) seenCall {
	for _, kind := range []string{"function", "custom"} {
		if f, ok := c[kind].(object); ok {
			return seenCall{str(c["id"]), str(f["name"]), f["arguments"]}
		}
	}
	return seenCall{str(c["id"]), str(c["name"]), nil}
}

// anthropic checks that the results of an assistant's message are the first blocks
// of the user's message that directly follows it, and that the result of a server
// tool follows the calls that the tool made.
func (v *validator) anthropic(messages []object) {
	var open []seenCall
	messages = joined(messages)
	for i, m := range append(messages, nil) {
		v.blocksOfUser(i, m, open)
		open = nil
		if m["role"] != "assistant" {
			continue
		}
		done := map[string]bool{}
		for _, b := range objects(m["content"]) {
			caller, _ := b["caller"].(object)
			switch kind := str(b["type"]); {
			case kind == "tool_result":
				v.breaks(i, "result_in_turn")
			case strings.HasSuffix(kind, "_tool_result"):
				done[str(b["tool_use_id"])] = true
			case done[str(caller["tool_id"])] && caller != nil:
				v.breaks(i, "call_after_result_of_caller")
			}
			if b["type"] == "tool_use" {
				open = append(open, seenCall{str(b["id"]), str(b["name"]), b["input"]})
				if _, ok := b["input"].(object); !ok {
					v.breaks(i, "input_not_object")
				}
			}
		}
		v.calls(i, open)
		if !serverToolsDone(m, messages[i+1:]) {
			v.breaks(i, "server_tool_unanswered")
		}
	}
}

// converseTools checks that each call that Converse runs has a result in its message or in the
// next one of the model, unless only results of other calls follow.
func (v *validator) converseTools(messages []object) {
	for i, m := range messages {
		open, ends := openInConverse(m), true
		for _, next := range messages[i+1:] {
			ends = ends && next["role"] == "user" && !slices.ContainsFunc(objects(next["content"]), func(b object) bool { return b["toolResult"] == nil })
			if next["role"] == "assistant" {
				for _, b := range objects(next["content"]) {
					result, _ := b["toolResult"].(object)
					delete(open, str(result["toolUseId"]))
				}
				break
			}
		}
		if len(open) > 0 && !ends {
			v.breaks(i, "server_tool_unanswered")
		}
	}
}

// joined returns messages in which the last one of neighbours by the model has the blocks of
// all of them, which the API joins. The others are empty.
func joined(messages []object) []object {
	messages = slices.Clone(messages)
	for i := 1; i < len(messages); i++ {
		if a, b := messages[i-1], messages[i]; a["role"] == "assistant" && b["role"] == "assistant" && !startsWithResult(a) && !startsWithResult(b) {
			first, _ := a["content"].([]any)
			next, _ := b["content"].([]any)
			messages[i-1], messages[i] = object{}, object{"role": "assistant", "content": slices.Concat(first, next)}
		}
	}
	return messages
}

// blocksOfUser checks the message after a turn, whose calls may be empty.
func (v *validator) blocksOfUser(at int, m object, calls []seenCall) {
	answered := map[string]bool{}
	other, late := false, false
	if m["role"] == "user" {
		for _, b := range objects(m["content"]) {
			if b["type"] != "tool_result" {
				other = true
				continue
			}
			late = late || other
			id := str(b["tool_use_id"])
			switch known := slices.ContainsFunc(calls, func(c seenCall) bool { return c.id == id }); {
			case answered[id]:
				v.breaks(at, "duplicate_result")
			case !known:
				v.breaks(at, "orphan_result")
			}
			answered[id] = true
		}
	}
	if late {
		v.breaks(at, "result_not_first")
	}
	for _, c := range calls {
		if !answered[c.id] {
			v.breaks(at, "unanswered_call")
		}
	}
}

// serverToolsDone reports whether every server tool has its result, in its own
// message or in the model's next one. A tool may still run while only results of
// client tools follow.
func serverToolsDone(m object, rest []object) bool {
	blocks := objects(m["content"])
	next := slices.IndexFunc(rest, func(m object) bool { return m["role"] == "assistant" })
	if next >= 0 {
		blocks = append(blocks, objects(rest[next]["content"])...)
	}
	running := map[string]bool{}
	for i, b := range blocks {
		switch kind := str(b["type"]); {
		case kind == "server_tool_use" || kind == "mcp_tool_use":
			if i < len(objects(m["content"])) {
				running[str(b["id"])] = true
			}
		case strings.HasSuffix(kind, "_tool_result"):
			delete(running, str(b["tool_use_id"]))
		}
	}
	return len(running) == 0 || len(rest) == 0 || len(rest) == 1 && onlyResults(rest[0])
}

func onlyResults(m object) bool {
	blocks := objects(m["content"])
	for _, b := range blocks {
		if b["type"] != "tool_result" {
			return false
		}
	}
	return len(blocks) > 0 && m["role"] == "user"
}

// outputOf has the type of output for each type of Responses call.
var outputOf = map[string]string{
	"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output",
	"shell_call": "shell_call_output", "apply_patch_call": "apply_patch_call_output",
	"computer_call": "computer_call_output", "tool_search_call": "tool_search_output",
	"local_shell_call": "local_shell_call_output", "mcp_approval_request": "mcp_approval_response",
}

// responses checks that an output follows its call, at any distance.
func (v *validator) responses(items []object) {
	open, closed := map[string]int{}, map[string]string{}
	for i, m := range items {
		kind := str(m["type"])
		switch {
		case outputOf[kind] != "":
			v.responsesCall(i, m, open, closed)
		case kind == "reasoning":
			if i+1 == len(items) || !ofModel(items[i+1]) {
				v.breaks(i, "reasoning_without_item")
			}
		case isOutput(kind):
			v.responsesOutput(i, items, open, closed)
		}
	}
	for _, at := range open {
		v.breaks(at, "unanswered_call")
	}
}

func (v *validator) responsesCall(at int, m object, open map[string]int, closed map[string]string) {
	kind, id := str(m["type"]), callID(m)
	if kind == "tool_search_call" && m["execution"] == "server" {
		return
	}
	name := str(m["name"])
	if kind != "function_call" && kind != "custom_tool_call" {
		name = "-" // these types have no name
	}
	v.calls(at, []seenCall{{id: id, name: name}})
	if before, ok := open[id]; ok {
		v.breaks(before, "unanswered_call")
	}
	open[id] = at
	delete(closed, id)
}

func (v *validator) responsesOutput(at int, items []object, open map[string]int, closed map[string]string) {
	id := callID(items[at])
	call, ok := open[id]
	switch {
	case ok && !fits(str(items[call]["type"]), str(items[at]["type"])):
		v.breaks(at, "kind_mismatch")
	case ok && id != "":
		delete(open, id)
		closed[id] = str(items[call]["type"])
		if v.provider == "deepseek" && !adjacent(items[call:at]) {
			v.breaks(at, "not_adjacent")
		}
	case closed[id] != "":
		v.breaks(at, "duplicate_result")
	default:
		v.breaks(at, "orphan_result")
	}
}

func fits(call, output string) bool {
	return outputOf[call] == output || output == "function_call_output" && slices.Contains([]string{"local_shell_call", "tool_search_call"}, call)
}

func isOutput(kind string) bool {
	for _, o := range outputOf {
		if o == kind {
			return true
		}
	}
	return false
}

// adjacent reports whether only calls, outputs and reasoning are between a call and
// its output.
func adjacent(items []object) bool {
	for _, m := range items {
		if kind := str(m["type"]); outputOf[kind] == "" && !isOutput(kind) && kind != "reasoning" {
			return false
		}
	}
	return true
}

// ofModel reports whether the model made a Responses item.
func ofModel(m object) bool {
	kind := str(m["type"])
	if kind == "" || kind == "message" {
		return m["role"] == "assistant"
	}
	return !isOutput(kind)
}

func callID(m object) string {
	for _, name := range []string{"call_id", "approval_request_id", "id"} {
		if id, ok := m[name].(string); ok {
			return id
		}
	}
	return ""
}
