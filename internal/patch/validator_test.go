package patch_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	case patch.OpenAI, patch.LangChain:
		v.chat(shape, messages)
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
		if kind == "tool" {
			id := str(m["tool_call_id"])
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
	if shape == patch.OpenAI {
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
	if shape == patch.OpenAI {
		for _, c := range objects(m["tool_calls"]) {
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
// of the user's message that directly follows it.
func (v *validator) anthropic(messages []object) {
	var open []seenCall
	for i, m := range append(messages, nil) {
		v.blocksOfUser(i, m, open)
		open = nil
		if m["role"] != "assistant" {
			continue
		}
		for _, b := range objects(m["content"]) {
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
	return outputOf[call] == output || call == "local_shell_call" && output == "function_call_output"
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

// validateFor returns the broken rules of a provider or an option that the corpus
// does not cover: the length of ids, their uniqueness in the history, the order of
// results, JSON args, and alternating roles.
func validateFor(shape patch.Shape, o patch.Options, messages []object) []violation {
	provider := o.Provider
	v := validator{provider: provider}
	seen, before := map[string]bool{}, ""
	for i, m := range messages {
		calls := callsOf(shape, m)
		for _, c := range calls {
			if limit := idLimits[provider]; limit > 0 && len(c.id) > limit {
				v.breaks(i, "long_id")
			}
			if (provider == "anthropic" || provider == "bedrock") && seen[c.id] {
				v.breaks(i, "id_not_unique")
			}
			seen[c.id] = true
			if text, ok := c.input.(string); ok && (shape == patch.OpenAI || shape == patch.Responses) && provider != "openai" && provider != "openai-chat40" && (text == "null" || !json.Valid([]byte(text))) {
				v.breaks(i, "args_not_json")
			}
		}
		if (provider == "gemini" || provider == "mistral" || o.Order == "call") && !inOrder(calls, resultsBehind(shape, messages[i+1:])) {
			v.breaks(i, "results_not_in_order")
		}
		role := str(m["role"])
		if provider == "bedrock" && shape == patch.Anthropic && role == before && role != "system" {
			v.breaks(i, "roles_not_alternating")
		}
		before = role
	}
	return v.found
}

var idLimits = map[string]int{"openai": 64, "openai-chat40": 40}

// callsOf returns the calls of a message of any shape.
func callsOf(shape patch.Shape, m object) []seenCall {
	switch shape {
	case patch.OpenAI, patch.LangChain:
		kind, m := chatKind(shape, m)
		if kind == "assistant" {
			return chatCalls(shape, m)
		}
	case patch.Anthropic:
		var calls []seenCall
		for _, b := range objects(m["content"]) {
			if b["type"] == "tool_use" {
				calls = append(calls, seenCall{str(b["id"]), str(b["name"]), b["input"]})
			}
		}
		return calls
	case patch.Responses:
		if outputOf[str(m["type"])] != "" {
			return []seenCall{{callID(m), str(m["name"]), m["arguments"]}}
		}
	}
	return nil
}

// resultsBehind returns the ids of the results that directly follow a message.
func resultsBehind(shape patch.Shape, rest []object) []string {
	var ids []string
	for _, m := range rest {
		switch shape {
		case patch.OpenAI, patch.LangChain:
			kind, m := chatKind(shape, m)
			if kind != "tool" {
				return ids
			}
			ids = append(ids, str(m["tool_call_id"]))
		case patch.Anthropic:
			for _, b := range objects(m["content"]) {
				if b["type"] == "tool_result" {
					ids = append(ids, str(b["tool_use_id"]))
				}
			}
			return ids
		default:
			return ids
		}
	}
	return ids
}

func inOrder(calls []seenCall, results []string) bool {
	for i, c := range calls {
		if i < len(results) && results[i] != c.id {
			return false
		}
	}
	return true
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func objects(v any) []object {
	var out []object
	for _, e := range list(v) {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// readJSON reads JSON and keeps numbers as text.
func readJSON(t testing.TB, text []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// messagesOf reads a JSON list of messages.
func messagesOf(t testing.TB, text []byte) []object {
	t.Helper()
	var messages []object
	readJSON(t, text, &messages)
	return messages
}

// compact returns JSON on one line, and text that is not JSON unchanged.
func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// TestValidator checks the validator against the violations that the corpus lists
// for each history.
func TestValidator(t *testing.T) {
	rules, histories := map[string]int{}, 0
	for _, c := range corpus(t) {
		for which, list := range c.Violations {
			messages, options := c.Input, c.Options
			switch which {
			case "peer", "expected":
				messages = c.Expected
			case "recommended":
				messages, options = c.Recommended.Expected, c.Recommended.Options
			}
			var want []violation
			for _, w := range list {
				at, err := w[0].(json.Number).Int64()
				if err != nil {
					t.Fatal(c.ID, err)
				}
				want = append(want, violation{int(at), w[1].(string)})
				rules[w[1].(string)]++
			}
			slices.SortFunc(want, func(a, b violation) int {
				return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Rule, b.Rule))
			})
			histories++
			got := validate(c.Format, str(options["provider"]), messagesOf(t, messages))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %s\n in %s\n got %v\nwant %v", c.ID, which, compact(messages), got, want)
			}
		}
	}
	t.Logf("%d histories, %d rules: %v", histories, len(rules), rules)
}

// TestValidatorRules checks each rule of the shapes and providers alone.
func TestValidatorRules(t *testing.T) {
	oCall := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"x","arguments":"{}"}}`
	}
	oTurn := func(ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, oCall(id))
		}
		return `{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	const (
		user    = `{"role":"user","content":"hm"}`
		aTurn   = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}}]}`
		aResult = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}`
		rCall   = `{"type":"function_call","call_id":"a","name":"x","arguments":"{}"}`
		rOutput = `{"type":"function_call_output","call_id":"a","output":"r"}`
	)
	result := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}` }
	long := strings.Repeat("x", 65)
	for _, c := range []struct {
		shape    patch.Shape
		provider string
		messages []string
		want     string
	}{
		{patch.OpenAI, "", []string{user, oTurn("a", "b"), result("b"), result("a"), user}, "[]"},
		{patch.OpenAI, "", []string{oTurn("a", "b"), result("a"), user, result("b")}, "[2:unanswered_call 3:orphan_result]"},
		{patch.OpenAI, "", []string{oTurn("a"), result("a"), result("a")}, "[2:duplicate_result]"},
		{patch.OpenAI, "", []string{oTurn("a", "a"), result("a"), result("a")}, "[0:duplicate_call_id]"},
		{patch.OpenAI, "", []string{oTurn(""), result("")}, "[0:empty_call_id]"},
		{patch.OpenAI, "", []string{`{"role":"assistant","tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}`, result("a")}, "[0:empty_name]"},
		{patch.OpenAI, "", []string{`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":"{"}}]}`, result("a")}, "[0:args_not_json]"},
		{patch.OpenAI, "openai", []string{`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"x","arguments":"{"}}]}`, result("a")}, "[]"},
		{patch.OpenAI, "openai", []string{oTurn(long), result(long)}, "[0:long_id]"},
		{patch.OpenAI, "mistral", []string{oTurn("call_1"), result("call_1")}, "[0:bad_id]"},
		{patch.OpenAI, "gemini", []string{oTurn("a", "b"), result("b"), result("a")}, "[0:results_not_in_order]"},
		{patch.LangChain, "", []string{`{"type":"ai","invalid_tool_calls":[{"id":"a","name":"x","args":"{"}]}`}, "[1:unanswered_call]"},
		{patch.LangChain, "", []string{`{"type":"ai","data":{"tool_calls":[{"id":"a","name":"x","args":{}}]}}`, `{"type":"human","data":{}}`}, "[1:unanswered_call]"},
		{patch.Anthropic, "", []string{aTurn, aResult}, "[]"},
		{patch.Anthropic, "", []string{aTurn, user, aResult}, "[1:unanswered_call 2:orphan_result]"},
		{patch.Anthropic, "", []string{aTurn, `{"role":"user","content":[{"type":"text","text":"hm"},{"type":"tool_result","tool_use_id":"a"}]}`}, "[1:result_not_first]"},
		{patch.Anthropic, "", []string{`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":"{}"}]}`, aResult}, "[0:input_not_object]"},
		{patch.Anthropic, "", []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}`}, "[]"},
		{patch.Anthropic, "", []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"s"}]}`, user}, "[0:server_tool_unanswered]"},
		{patch.Anthropic, "anthropic", []string{aTurn, aResult, aTurn, aResult}, "[2:id_not_unique]"},
		{patch.Anthropic, "bedrock", []string{user, user}, "[1:roles_not_alternating]"},
		{patch.Responses, "", []string{rCall, user, rOutput}, "[]"},
		{patch.Responses, "", []string{rOutput, rCall}, "[0:orphan_result 1:unanswered_call]"},
		{patch.Responses, "", []string{rCall, rOutput, rOutput}, "[2:duplicate_result]"},
		{patch.Responses, "", []string{rCall, `{"type":"custom_tool_call_output","call_id":"a"}`}, "[0:unanswered_call 1:kind_mismatch]"},
		{patch.Responses, "", []string{`{"type":"reasoning","id":"r"}`, user}, "[0:reasoning_without_item]"},
		{patch.Responses, "deepseek", []string{rCall, user, rOutput}, "[2:not_adjacent]"},
	} {
		text := []byte("[" + strings.Join(c.messages, ",") + "]")
		messages := messagesOf(t, text)
		got := append(validate(c.shape, c.provider, messages), validateFor(c.shape, patch.Options{Provider: c.provider}, messages)...)
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s for %q: %s\n got %v\nwant %s", c.shape, c.provider, text, got, c.want)
		}
	}
}
