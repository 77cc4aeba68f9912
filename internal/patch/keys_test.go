package patch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
)

// structural are the keys that link calls and results, or show what a message is.
var structural = strings.Fields("role type id function custom tool_calls invalid_tool_calls tool_call_id content tool_use_id data kwargs " +
	"call_id output parts state toolCallId toolCalls toolName input toolUse toolResult toolUseId functionCall functionResponse " +
	"function_call function_response name tool_results")

// TestMissingKeys deletes and renames each structural key of histories of all
// shapes. The history is then refused, or the results that the repair of the whole
// history keeps are in the output.
func TestMissingKeys(t *testing.T) {
	n, seed := sampleSize(t, 21/stride)
	changed, refused := 0, 0
	check := func(shape patch.Shape, input []byte, o patch.Options) {
		c, r := checkMissingKeys(t, shape, input, o)
		changed, refused = changed+c, refused+r
	}
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 2))
		shape := tested[r.IntN(len(tested))]
		s := slices.DeleteFunc(someScenario(r, shape), func(e event) bool { return withoutID(e) || sharesID(e) })
		check(shape, render(shape, s[:min(len(s), 12)]), patch.Options{})
		if t.Failed() {
			t.Fatalf("STREAMER_SEED=%d", seed+uint64(i))
		}
	}
	for i, text := range slices.Concat(keyFixtures(t), keyCases(t)) {
		if i%stride > 0 {
			continue
		}
		check(patch.Auto, text, patch.Options{})
	}
	t.Logf("%d changed histories, %d refused", changed, refused)
}

// withoutID reports whether an event has an empty id. Only names and positions then
// link calls and results.
func withoutID(e event) bool {
	return e.kind == "result" && e.id == "" || slices.ContainsFunc(e.calls, func(c toolCall) bool { return c.id == "" })
}

// sharesID reports whether two calls of a message have one id. If the list of one of them
// cannot be read, the other one shows the id.
func sharesID(e event) bool {
	seen := map[string]bool{}
	return slices.ContainsFunc(e.calls, func(c toolCall) bool {
		twice := seen[c.id]
		seen[c.id] = true
		return twice
	})
}

// keyFixtures returns the inputs of the scripts.
func keyFixtures(t *testing.T) (inputs [][]byte) {
	files, err := filepath.Glob("testdata/repair/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for script := range strings.SplitSeq(string(text), "====\n") {
			_, body, _ := strings.Cut(script, "{}\n")
			body, _, _ = strings.Cut(body, "\n---\n")
			if input := []byte("[" + strings.ReplaceAll(body, "\n", ",") + "]"); json.Valid(input) {
				inputs = append(inputs, input)
			}
		}
	}
	return inputs
}

// checkMissingKeys returns the number of changed histories and of refused ones.
func checkMissingKeys(t testing.TB, shape patch.Shape, input []byte, o patch.Options) (changed, refused int) {
	t.Helper()
	var messages []any
	if json.Unmarshal(input, &messages) != nil {
		return 0, 0
	}
	input = []byte(asJSON(messages)) // in the order of the keys of the changed histories
	whole, err := patch.Repair(shape, input, o)
	if err != nil {
		return 0, 0
	}
	kept, known := resultTexts(whole.History), dropped(whole.Report)
	for _, c := range withoutKeys(input) {
		for _, named := range []patch.Shape{patch.Auto, whole.Report.Format} {
			changed++
			r, err := patch.Repair(named, c.text, o)
			if err != nil {
				refused++
				continue
			}
			if len(kept) == 0 && !c.bare {
				for _, op := range dropped(r.Report) {
					if !slices.Contains(known, op) && op != nothing {
						t.Errorf("%s as %s, %s: a result is lost: %s\n input %s", whole.Report.Format, named, c.what, asJSON(drops(r.Report)), c.text)
						return changed, refused
					}
				}
			}
			for _, text := range kept {
				if !bytes.Contains(c.text, text) || bytes.Contains(r.History, text) || c.hides(text) {
					continue
				}
				t.Errorf("%s as %s, %s: the result %s is lost: %s\n input %s", whole.Report.Format, named, c.what, text, asJSON(drops(r.Report)), c.text)
				return changed, refused
			}
		}
	}
	return changed, refused
}

// resultTexts returns the texts of the real results in a history.
func resultTexts(history []byte) (texts [][]byte) {
	for from := 0; ; {
		at := bytes.Index(history[from:], []byte("real-"))
		if at < 0 {
			return texts
		}
		from += at
		end := from + bytes.IndexByte(history[from:], '"')
		texts = append(texts, history[from:end])
		from = end
	}
}

// keyless is a history without one key.
type keyless struct {
	what string
	text []byte
	// bare is true if the key was deleted with the calls of a message that has a text, or
	// with its turn. Nothing shows then that there were any.
	bare bool
}

func (k keyless) hides([]byte) bool { return k.bare }

// withoutKeys returns the history without each of its structural keys, with null, and
// with other names for them.
func withoutKeys(input []byte) (all []keyless) {
	var messages []any
	if json.Unmarshal(input, &messages) != nil {
		return nil
	}
	var walk func(v any, path string, depth int)
	walk = func(v any, path string, depth int) {
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				walk(e, fmt.Sprintf("%s[%d]", path, i), depth)
			}
		case object:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if key == "input" && depth > 0 || key == "args" || key == "output" && depth > 1 {
					continue
				}
				old := v[key]
				if slices.Contains(structural, key) && !optional(key, v) {
					delete(v, key)
					all = append(all, keyless{"without " + path + "." + key, []byte(asJSON(messages)), bareWithout(key, v, old, depth)})
					if key != "content" && key != "output" { // null is a content
						v[key] = nil
						bare := bareWithout(key, v, old, depth) || key == "tool_call_id" && shared(input, old)
						all = append(all, keyless{path + "." + key + " as null", []byte(asJSON(messages)), bare})
						delete(v, key)
					}
					for _, now := range []string{"x_" + key, strings.ToUpper(key)} {
						v[now] = old
						all = append(all, keyless{path + "." + key + " as " + now, []byte(asJSON(messages)), bareWithout(key, v, old, depth) && !strings.HasSuffix(key, "s")})
						delete(v, now)
					}
					v[key] = old
				}
				if key != "output" && (key != "content" || depth == 0) { // the content of a result has no structure
					walk(old, path+"."+key, depth+1)
				}
			}
		}
	}
	walk(messages, "", 0)
	return all
}

// optional reports whether a key of a content links nothing.
func optional(key string, m object) bool {
	return (key == "content" || key == "type") && (m["type"] == "text" || m["type"] == "thinking")
}

// bareWithout reports whether nothing shows that the deleted value had calls.
func bareWithout(key string, rest object, value any, depth int) bool {
	has := func(m object, key string) bool {
		text, isText := m[key].(string)
		return m[key] != nil && (!isText || text != "")
	}
	switch key {
	case "role": // Gemini takes a text without a role for the user's
		return value == "model" && !strings.Contains(asJSON(rest), "functionCall")
	case "content": // signed reasoning keeps the results of earlier turns where they are
		return strings.Contains(asJSON(value), "signature")
	case "name", "toolName": // without an id, only the name links a call
		return rest["id"] == "" || rest["tool_call_id"] == "" || rest["toolCallId"] == "" || rest["call_id"] == ""
	case "tool_calls", "toolCalls", "invalid_tool_calls":
		return has(rest, "content") || has(rest, "invalid_tool_calls") || has(rest, "tool_calls")
	}
	return false
}

// shared reports whether more than a call and a result have the id. With null, the
// result in LangChain is then one that no call needs.
func shared(input []byte, id any) bool { return bytes.Count(input, []byte(asJSON(id))) > 2 }

// drops returns the ops that drop results.
func drops(r patch.Report) []patch.Op {
	return slices.DeleteFunc(slices.Clone(r.Ops), func(op patch.Op) bool { return !strings.HasSuffix(op.Op, "_dropped") })
}

// nothing is the hash of no content.
const nothing = "e3b0c44298fc1c14"

// dropped returns the hashes of the dropped real results.
func dropped(r patch.Report) (hashes []string) {
	for _, op := range drops(r) {
		if op.Why != "superseded" && op.Op != "reasoning_dropped" && op.Op != "call_dropped" {
			hashes = append(hashes, op.Hash)
		}
	}
	return hashes
}

// keyCases returns inputs of the cases beside the repository, if there are any.
func keyCases(t *testing.T) (inputs [][]byte) {
	for i, c := range shapeCases(t) {
		if messages := messagesIn(c.Input); i%stride == 0 && messages != nil {
			inputs = append(inputs, messages)
		}
	}
	return inputs
}
