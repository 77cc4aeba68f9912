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

// corpus reads the corpus, which lies beside the repository or where
// STREAMER_SHARED says, and skips the test where it does not.
func corpus(t testing.TB) []corpusCase {
	root := os.Getenv("STREAMER_SHARED")
	if root == "" {
		root = "../../../shared"
	}
	files, _ := filepath.Glob(filepath.Join(root, "patch/corpus/*.json"))
	if len(files) == 0 {
		t.Skipf("no corpus of repairs in %s/patch/corpus; STREAMER_SHARED names the place of shared", root)
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

// TestCorpus: what the repair makes of a history, and what it says of that.
// Where the case is of another system's own tests, it is what our repair makes
// of its input.
func TestCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		options, expected, report := c.Options, c.Expected, c.Report
		if c.Kind == "peer" {
			options, expected, report = c.Recommended.Options, c.Recommended.Expected, c.Recommended.Report
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

// loneReasoning is what is left as it is wherever it came so.
const loneReasoning = "reasoning_without_item"

// optionsOf are options as the wire gives them.
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

// repair is patch.Repair of what can be repaired. It checks what holds of
// every repair: the input stays as it is, and doing it again gives the same.
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
		t.Fatalf("%s %s: done again, it gives\n%s\nand not\n%s (%v)", shape, input, again.History, r.History, err)
	}
	return r
}

// checkFixpoint: a repaired history is left as it is.
func checkFixpoint(t testing.TB, shape patch.Shape, repaired []byte, o patch.Options) {
	t.Helper()
	r := repair(t, shape, repaired, o)
	ops := slices.DeleteFunc(kinds(r.Report), func(op string) bool { return op == "orphan_kept" })
	if !bytes.Equal(r.History, repaired) || len(ops) > 0 || r.Report.Patched {
		t.Errorf("%s: the repair of what was repaired, with ops %v\n  of %s\ngives %s", shape, kinds(r.Report), compact(repaired), compact(r.History))
	}
}

// checkValid: a history breaks no rule but those that are excepted.
func checkValid(t testing.TB, shape patch.Shape, repaired []byte, o patch.Options, except ...string) {
	t.Helper()
	messages := messagesOf(t, repaired)
	broken := append(validate(shape, o.Provider, messages), validateFor(shape, o, messages)...)
	broken = slices.DeleteFunc(broken, func(v violation) bool { return slices.Contains(except, v.Rule) })
	if len(broken) > 0 {
		t.Errorf("%s for %q: %v in %s", shape, o.Provider, broken, compact(repaired))
	}
}

// checkPrefixes: where late results are noted, the repair of what stands in
// front of an assistant's turn is the beginning of the repair of the whole. An
// orphan that is not dropped must be one for good.
func checkPrefixes(t testing.TB, shape patch.Shape, input []byte, o patch.Options) {
	t.Helper()
	o.Late = "note"
	if rescue := false; o.Orphans != "" && o.Orphans != "drop" {
		o.RescueEarly = &rescue
	}
	var messages []json.RawMessage
	readJSON(t, input, &messages)
	whole := parts(t, repair(t, shape, input, o).History, o)
	for _, k := range turnsOf(t, shape, input) {
		if shape == patch.Anthropic && stillRuns(messagesOf(t, input)[:k]) {
			continue
		}
		text, err := json.Marshal(messages[:k])
		if err != nil {
			t.Fatal(err)
		}
		begin := parts(t, repair(t, shape, text, o).History, o)
		if len(begin) > len(whole) || !slices.Equal(begin, whole[:len(begin)]) {
			t.Errorf("%s: the repair of the first %d messages is not the beginning of the repair of all\ninput %s\nfirst %s\n  all %s", shape, k, compact(input), begin, whole)
			return
		}
	}
}

// stillRuns tells whether a history ends in a turn with a tool that the
// provider runs: only what comes next says whether it still does.
func stillRuns(messages []object) bool {
	for _, m := range slices.Backward(messages) {
		if m["role"] == "assistant" {
			return !serverToolsDone(m, []object{{}, {}})
		}
	}
	return false
}

// parts gives the messages of a history; where neighbours of one role are
// merged, the blocks of which they are made.
func parts(t testing.TB, history []byte, o patch.Options) []string {
	t.Helper()
	if o.Provider != "bedrock" {
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

// turnsOf gives the indexes at which a turn of the assistant begins: in
// Responses it is several items.
func turnsOf(t testing.TB, shape patch.Shape, input []byte) []int {
	var turns []int
	inside := false
	for i, m := range messagesOf(t, input) {
		assistant := m["role"] == "assistant"
		switch shape {
		case patch.Responses:
			assistant = ofModel(m)
		case patch.LangChain:
			kind, _ := chatKind(shape, m)
			assistant = kind == "assistant"
		}
		if assistant && !(inside && shape == patch.Responses) {
			turns = append(turns, i)
		}
		inside = assistant
	}
	return turns
}

// canonical gives each message in one spelling.
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

// sameJSON compares lists of messages, with numbers as they are written.
func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	return slices.Equal(canonical(t, a), canonical(t, b))
}

// kinds are the names of a report's ops.
func kinds(r patch.Report) []string {
	out := []string{}
	for _, op := range r.Ops {
		out = append(out, op.Op)
	}
	return out
}
