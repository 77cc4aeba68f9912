package patch_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"streamer/internal/patch"
	"streamer/test/testkit"
)

// corpusCase is one file of the corpus of repairs.
type corpusCase struct {
	ID, Kind, Rule, Note string
	Format               patch.Shape
	Options              object
	Input, Expected      json.RawMessage
	InputRaw             string `json:"input_raw"`
	ExpectedRaw          string `json:"expected_raw"`
	Report               []string
	Recommended          struct {
		Options  object
		Expected json.RawMessage
		Report   []string
	}
	Violations map[string][][2]any
}

// corpus reads the corpus from the directory STREAMER_SHARED, by default one beside
// the repository. It skips the test if there is no corpus.
func corpus(t testing.TB) []corpusCase {
	files, _ := filepath.Glob(testkit.Shared("patch/corpus/*.json"))
	if len(files) == 0 {
		t.Skipf("no corpus of repairs in %s/patch/corpus; set STREAMER_SHARED to the directory that contains patch/corpus", testkit.Shared())
	}
	cases := make([]corpusCase, len(files))
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		readJSON(t, text, &cases[i])
	}
	return cases
}

// TestCorpus checks the repair and the report of each history. For a test of
// another system, it checks the recommended repair of its input.
func TestCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		options, expected, report := c.Options, c.Expected, c.Report
		if c.Kind == "peer" {
			options, expected, report = c.Recommended.Options, c.Recommended.Expected, c.Recommended.Report
		}
		if slices.Contains(superseded, c.ID) || c.Format == patch.Anthropic && hasNeighbours(messagesOf(t, c.Input)) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			o := optionsOf(t, options)
			input := []byte(c.Input)
			if c.InputRaw != "" {
				input, expected = []byte(c.InputRaw), []byte(c.ExpectedRaw)
			}
			r := repair(t, c.Format, input, o)
			if c.ExpectedRaw != "" && string(r.History) != c.ExpectedRaw {
				t.Errorf("input %s\n  got %s\n want %s", input, r.History, c.ExpectedRaw)
			}
			if !sameJSON(t, r.History, expected) {
				t.Errorf("%s\ninput %s\n  got %s\n want %s", c.Note, compact(input), compact(r.History), compact(expected))
			}
			if got := kinds(r.Report); !slices.Equal(got, report) {
				t.Errorf("input %s\nops\n got %v\nwant %v", compact(input), got, report)
			}
			if r.Report.Patched == bytes.Equal(input, r.History) {
				t.Errorf("input %s\n  got %s\npatched: %v", compact(input), compact(r.History), r.Report.Patched)
			}
			checkFixpoint(t, c.Format, expected, o)
			if o.Orphans != "keep" && o.Pending == nil {
				checkValid(t, c.Format, expected, o, loneReasoning)
			}
			checkPrefixes(t, c.Format, input, o)
		})
	}
}

// superseded are the cases that a later rule contradicts; testdata/repair has what it says.
var superseded = []string{
	"spec-responses-kind-mismatch-incompatible", // r18-kinds: an output with the call's id is its output
}

// hasNeighbours reports whether two messages of the model are neighbours, which the cases for
// Anthropic take for two turns. They are one: r20-roles, and TestProperties.
func hasNeighbours(messages []object) bool {
	for i := 1; i < len(messages); i++ {
		if messages[i-1]["role"] == "assistant" && messages[i]["role"] == "assistant" {
			return true
		}
	}
	return false
}

// loneReasoning is the rule that a repair does not restore if the input breaks it.
const loneReasoning = "reasoning_without_item"

// optionsOf returns options from their JSON.
func optionsOf(t testing.TB, options object) patch.Options {
	t.Helper()
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	o, err := patch.ParseOptions(text)
	if err != nil {
		t.Fatalf("options %s: %v", text, err)
	}
	return o
}

// repair returns the repair of a valid history. It checks two properties of every
// repair: the input does not change, and the same input returns the same output.
func repair(t testing.TB, shape patch.Shape, input []byte, o patch.Options) patch.Repaired {
	t.Helper()
	before := bytes.Clone(input)
	r, err := patch.Repair(shape, input, o)
	if err != nil {
		t.Fatalf("%s %s: %v", shape, input, err)
	}
	if !bytes.Equal(input, before) {
		t.Fatalf("%s: the input was changed\nfrom %s\n  to %s", shape, before, input)
	}
	again, err := patch.Repair(shape, input, o)
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Fatalf("%s %s: the second repair returns\n%s\nwant\n%s (%v)", shape, input, again.History, r.History, err)
	}
	return r
}

// checkFixpoint checks that a repaired history does not change.
func checkFixpoint(t testing.TB, shape patch.Shape, repaired []byte, o patch.Options) {
	t.Helper()
	r := repair(t, shape, repaired, o)
	ops := slices.DeleteFunc(kinds(r.Report), func(op string) bool { return op == "orphan_kept" })
	if !bytes.Equal(r.History, repaired) || len(ops) > 0 || r.Report.Patched {
		t.Errorf("%s: the second repair has ops %v\ninput %s\n  got %s", shape, kinds(r.Report), compact(repaired), compact(r.History))
	}
}

// checkValid checks that a history breaks no rule except those listed.
func checkValid(t testing.TB, shape patch.Shape, repaired []byte, o patch.Options, except ...string) {
	t.Helper()
	messages := messagesOf(t, repaired)
	broken := append(validate(shape, o.Provider, messages), validateFor(shape, o, messages)...)
	broken = slices.DeleteFunc(broken, func(v violation) bool { return slices.Contains(except, v.Rule) })
	if len(broken) > 0 {
		t.Errorf("%s for %q: %v in %s", shape, o.Provider, broken, compact(repaired))
	}
}

// checkPrefixes checks that with late: note the repair of the messages before an
// assistant's turn is a prefix of the whole repair. Orphans that are not dropped
// must stay orphans.
func checkPrefixes(t testing.TB, shape patch.Shape, input []byte, o patch.Options) {
	t.Helper()
	o.Late = "note"
	if rescue := false; o.Orphans != "" && o.Orphans != "drop" {
		o.RescueEarly = &rescue
	}
	var messages []json.RawMessage
	readJSON(t, input, &messages)
	whole := parts(t, shape, repair(t, shape, input, o).History, o)
	for _, k := range turnsOf(t, shape, input) {
		if (shape == patch.Anthropic || shape == patch.Bedrock) && stillRuns(messagesOf(t, input)[:k]) {
			continue
		}
		text, err := json.Marshal(messages[:k])
		if err != nil {
			t.Fatal(err)
		}
		begin := parts(t, shape, repair(t, shape, text, o).History, o)
		if len(begin) > len(whole) || !slices.Equal(begin, whole[:len(begin)]) {
			t.Errorf("%s: the repair of the first %d messages is not a prefix of the whole repair\ninput %s\nfirst %s\n  all %s", shape, k, compact(input), begin, whole)
			return
		}
	}
}

// stillRuns reports whether a history ends with a turn whose server tool has no
// result. Only the next message shows whether it still runs.
func stillRuns(messages []object) bool {
	for _, m := range slices.Backward(joined(messages)) {
		if m["role"] == "assistant" && !startsWithResult(m) {
			return !serverToolsDone(m, []object{{}, {}}) || len(openInConverse(m)) > 0
		}
	}
	return false
}

// openInConverse returns the calls of a message that the provider runs and that have no result.
func openInConverse(m object) map[string]bool {
	open := map[string]bool{}
	for _, b := range objects(m["content"]) {
		use, _ := b["toolUse"].(object)
		result, _ := b["toolResult"].(object)
		if use["type"] != nil {
			open[str(use["toolUseId"])] = true
		}
		delete(open, str(result["toolUseId"]))
	}
	return open
}

// parts returns the messages of a history, or their blocks if consecutive messages
// are merged.
func parts(t testing.TB, shape patch.Shape, history []byte, o patch.Options) []string {
	t.Helper()
	if o.Provider != "bedrock" && shape != patch.Bedrock || shape == patch.LangChain {
		return canonical(t, history)
	}
	var out []string
	for _, m := range messagesOf(t, history) {
		if s, ok := m["content"].(string); ok {
			m["content"] = []any{object{"type": "text", "text": s}}
		}
		for _, b := range list(m["content"]) {
			out = append(out, str(m["role"])+asJSON(b))
		}
	}
	return out
}

// startsWithResult reports whether a result precedes all other blocks of a message. It precedes the turn, too.
func startsWithResult(m object) bool {
	blocks := append(objects(m["content"]), objects(m["parts"])...)
	return len(blocks) > 0 && (blocks[0]["type"] == "tool_result" || blocks[0]["toolResult"] != nil || blocks[0]["functionResponse"] != nil || blocks[0]["function_response"] != nil)
}

// turnsOf returns the indices at which the assistant's turns begin. In Responses, Anthropic,
// Bedrock and Gemini a turn is a run of the model's items or messages.
func turnsOf(t testing.TB, shape patch.Shape, input []byte) []int {
	var turns []int
	inside := false
	for i, m := range messagesOf(t, input) {
		assistant := m["role"] == "assistant"
		switch shape {
		case patch.Gemini:
			assistant = m["role"] == "model"
		case patch.Responses:
			assistant = ofModel(m)
		case patch.LangChain:
			kind, _ := chatKind(shape, m)
			assistant = kind == "assistant"
		}
		runs := slices.Contains([]patch.Shape{patch.Responses, patch.Anthropic, patch.Bedrock, patch.Gemini}, shape)
		if assistant && !(runs && inside) && !startsWithResult(m) {
			turns = append(turns, i)
		}
		inside = assistant
	}
	return turns
}

// canonical returns each message with sorted keys and without white space.
func canonical(t testing.TB, history []byte) []string {
	t.Helper()
	var out []string
	for _, m := range messagesOf(t, history) {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// sameJSON reports whether two lists of messages are equal. Numbers are compared as
// text.
func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	return slices.Equal(canonical(t, a), canonical(t, b))
}

// kinds returns the names of a report's ops.
func kinds(r patch.Report) []string {
	out := []string{}
	for _, op := range r.Ops {
		out = append(out, op.Op)
	}
	return out
}
