package patch_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"

	"streamer/internal/patch"
)

// fuzzOptions are the options that the fuzzer selects from.
var fuzzOptions = []string{
	`{}`, `{"late":"note","orphans":"text"}`, `{"late":"replace","orphans":"adopt","order":"call"}`, `{"late":"drop","dangling":"leave"}`,
	`{"provider":"anthropic"}`, `{"provider":"bedrock","orphans":"adopt"}`, `{"provider":"mistral","lang":"zh"}`, `{"provider":"deepseek","rebind":"single"}`,
	`{"provider":"gemini","names":"keep","args":"keep"}`, `{"orphans":"keep"}`, `{"tail":"leave","invalid":"convert"}`, `{"tail":"leave","late":"note","orphans":"text"}`, `{"provider":"openai-chat40","template":"{name} {id}"}`,
	`{"profile":"deepagents"}`, `{"profile":"deepagents-js"}`, `{"profile":"eino"}`, `{"profile":"eino-0.8"}`, `{"profile":"sagents"}`,
}

// FuzzRepair checks that any input is refused or repaired. The output is JSON in
// the form of the input, and repairing it again changes nothing.
func FuzzRepair(f *testing.F) {
	shapes := append([]patch.Shape{""}, patch.Shapes()...)
	for i := range uint64(60) {
		r := rand.New(rand.NewPCG(i, 0))
		shape := tested[r.IntN(len(tested))]
		f.Add(byte(slices.Index(shapes, shape)), byte(i), render(shape, someScenario(r, shape)))
	}
	for _, text := range []string{
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}`,
		`{"input":[{"type":"function_call","call_id":"a"}],"n":1e400}`,
		"{\"role\":\"user\"}\n{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"id\":\"\\ud800\"}]}\r\n",
		`[{"type":"ai","data":{"tool_calls":[{"id":"a"}],"content":[{"type":"tool_use","id":7}]}}]`,
		`[{"lc":1,"type":"constructor","id":["m","AIMessage"],"kwargs":{"tool_calls":[{"id":"a","name":"x","args":null}]}}]`,
		` [ ] `, `null`, `[1]`, `[{}]`, ``, `[{"role":"assistant","content":[{"type":"server_tool_use","id":[]}]},{}]`,
	} {
		f.Add(byte(0), byte(0), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which, option byte, input []byte) {
		shape, options := shapes[int(which)%len(shapes)], fuzzOptions[int(option)%len(fuzzOptions)]
		o, err := patch.ParseOptions([]byte(options))
		if err != nil {
			t.Fatal(err)
		}
		checkAnything(t, shape, input, o)
	})
}

// checkAnything repairs input that may not be a history.
func checkAnything(t testing.TB, shape patch.Shape, input []byte, o patch.Options) {
	t.Helper()
	before := bytes.Clone(input)
	r, err := patch.Repair(shape, input, o)
	if !bytes.Equal(input, before) {
		t.Fatalf("the input was changed from %q to %q", before, input)
	}
	if err != nil {
		return
	}
	if r.Report.Patched == bytes.Equal(r.History, input) {
		t.Fatalf("%s: patched %v, and the output is %s", shape, r.Report.Patched, r.History)
	}
	for dec := json.NewDecoder(bytes.NewReader(r.History)); dec.More(); {
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			t.Fatalf("%s: %v in the output %s", shape, err, r.History)
		}
	}
	if o.Profile != "" || o.Orphans == "keep" || o.Dangling == "leave" || len(bytes.TrimSpace(r.History)) == 0 {
		// A kept orphan may match a call of the output, dropping may join two
		// turns, and an output without lines is not a history. A profile has the
		// faults of its system.
		return
	}
	again, err := patch.Repair(r.Report.Format, r.History, o)
	if err != nil || !bytes.Equal(again.History, r.History) || again.Report.Patched {
		t.Fatalf("%s: the output\n%s\nis repaired to\n%s\nwith %s (%v)", shape, r.History, again.History, asJSON(again.Report.Ops), err)
	}
}

// TestStrange repairs histories in which some values have another type, are
// duplicated or are missing.
func TestStrange(t *testing.T) {
	n, seed := sampleSize(t, 1500/stride)
	for i := range n {
		r := rand.New(rand.NewPCG(seed+uint64(i), 1))
		shape := tested[r.IntN(len(tested))]
		o, err := patch.ParseOptions([]byte(fuzzOptions[r.IntN(len(fuzzOptions))]))
		if err != nil {
			t.Fatal(err)
		}
		input := render(shape, someScenario(r, shape))
		for range 1 + r.IntN(3) {
			input = mutated(r, input)
		}
		p := &probe{}
		func() {
			defer func() {
				if err := recover(); err != nil && err != any(p) {
					p.Errorf("panic: %v\n%s", err, debug.Stack())
				}
			}()
			checkAnything(p, shape, input, o)
		}()
		if p.failure != "" {
			t.Fatalf("STREAMER_SEED=%d options %s\n%s\n%s", seed+uint64(i), asJSON(o), input, p.failure)
		}
	}
}

// mutated replaces one value of a JSON text by an unusual one.
func mutated(r *rand.Rand, text []byte) []byte {
	var places [][2]int // of values
	var walk func(from, to int)
	walk = func(from, to int) {
		places = append(places, [2]int{from, to})
		var inner []json.RawMessage
		var fields map[string]json.RawMessage
		if json.Unmarshal(text[from:to], &inner) != nil && json.Unmarshal(text[from:to], &fields) == nil {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				inner = append(inner, fields[name])
			}
		}
		for _, v := range inner {
			at := from + bytes.Index(text[from:to], v)
			walk(at, at+len(v))
		}
	}
	walk(0, len(text))
	at := places[r.IntN(len(places))]
	old := string(text[at[0]:at[1]])
	now := pick(r, "null", "7", `""`, `"x"`, "[]", "{}", "[1]", "[[]]", "true", `{"type":"tool_use"}`, `{"id":{}}`, `"\ud800"`, "1e400",
		`[{"type":"text","text":"aborted"}]`, `{"a":1,"a":2}`, old+","+old, `[`+old+`]`, `{"role":"assistant"}`, `"assistant"`, `"tool"`, `"user"`)
	return slices.Concat(text[:at[0]], []byte(now), text[at[1]:])
}
