package patch_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
)

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
			if c.Format == patch.Anthropic && hasNeighbours(messagesOf(t, messages)) {
				continue
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
		{patch.Anthropic, "", []string{`{"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_result","tool_use_id":"a"}]}`}, "[0:result_in_turn]"},
		{patch.Anthropic, "", []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"code_execution","input":{}},{"type":"code_execution_tool_result","tool_use_id":"s"},{"type":"tool_use","id":"a","name":"x","input":{},"caller":{"type":"code_execution_20250825","tool_id":"s"}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`}, "[0:call_after_result_of_caller]"},
		{patch.Responses, "", []string{`{"type":"reasoning","id":"r"}`, user}, "[0:reasoning_without_item]"},
		{patch.Bedrock, "", []string{`{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"x","input":{}}}]}`, `{"role":"user","content":[{"text":"hm"},{"toolResult":{"toolUseId":"a"}}]}`}, "[1:result_not_first]"},
		{patch.Bedrock, "", []string{`{"role":"user","content":[{"text":"hm"}]}`, `{"role":"user","content":[{"toolResult":{"toolUseId":"a"}}]}`}, "[1:orphan_result 1:roles_not_alternating]"},
		{patch.Bedrock, "", []string{`{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"x","input":"{}","type":"server_tool_use"}},{"toolResult":{"toolUseId":"a"}}]}`}, "[]"},
		{patch.Gemini, "", []string{`{"role":"model","parts":[{"functionCall":{"name":"x"}},{"functionCall":{"name":"x"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"x"}}]}`}, "[1:unanswered_call]"},
		{patch.Gemini, "", []string{`{"role":"model","parts":[{"functionCall":{"name":"x"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"x"}},{"functionResponse":{"name":"x"}},{"functionResponse":{"name":"y"}}]}`}, "[1:duplicate_result 1:orphan_result]"},
		{patch.Gemini, "gemini", []string{`{"role":"model","parts":[{"functionCall":{"name":"x"}},{"functionCall":{"name":"y"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"y"}},{"functionResponse":{"name":"x"}}]}`}, "[1:results_not_in_order]"},
		{patch.LangChainEx, "", []string{`{"role":"assistant","tool_calls":[{"call_id":"a","name":"x","arguments":"[]"}]}`, `{"role":"tool","tool_results":[{"tool_call_id":"a"},{"tool_call_id":"a"},{"tool_call_id":"b"}]}`}, "[0:input_not_object 2:duplicate_result 3:orphan_result]"},
		{patch.Responses, "deepseek", []string{rCall, user, rOutput}, "[2:not_adjacent]"},
	} {
		t.Run(c.provider+" "+c.want, func(t *testing.T) {
			text := []byte("[" + strings.Join(c.messages, ",") + "]")
			messages := messagesOf(t, text)
			got := append(validate(c.shape, c.provider, messages), validateFor(c.shape, patch.Options{Provider: c.provider}, messages)...)
			if fmt.Sprint(got) != c.want {
				t.Errorf("%s for %q: %s\n got %v\nwant %s", c.shape, c.provider, text, got, c.want)
			}
		})
	}
}
