package patch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
)

const cancelled = "was cancelled - another message came in before it could be completed."

// The functions below return messages for the tests.
func lcAI(calls ...string) string {
	return `{"type":"ai","content":"","tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func lcCall(id, name string) string {
	return fmt.Sprintf(`{"name":%q,"args":{},"id":%q,"type":"tool_call"}`, name, id)
}

func lcTool(id string) string { return `{"type":"tool","content":"real","tool_call_id":"` + id + `"}` }

func lcCancelled(id, name string) string {
	return fmt.Sprintf(`{"type":"tool","content":"Tool call %s with id %s %s","name":%q,"tool_call_id":%q}`, name, id, cancelled, name, id)
}

const lcHuman = `{"type":"human","content":"hm"}`

// profileCase is a history and its repair by another system.
type profileCase struct {
	name     string
	profile  string
	in, want []string
}

// TestProfiles checks every documented behaviour of the systems, correct or not.
func TestProfiles(t *testing.T) {
	for _, c := range slices.Concat(deepagentsCases(), deepagentsJSCases(), sagentsCases()) {
		t.Run(c.profile+"/"+c.name, func(t *testing.T) { checkProfile(t, patch.LangChain, c, patch.Options{}) })
	}
	for _, c := range einoCases() {
		t.Run(c.profile+"/"+c.name, func(t *testing.T) { checkProfile(t, patch.OpenAI, c, patch.Options{}) })
	}
	for _, c := range agenticCases() {
		t.Run(c.profile+"/"+c.name, func(t *testing.T) { checkProfile(t, patch.Anthropic, c, patch.Options{}) })
	}
}

// checkProfile repairs a history and compares. Existing messages must keep their
// bytes, and a history that needs no repair must be returned as it is.
func checkProfile(t *testing.T, shape patch.Shape, c profileCase, o patch.Options) {
	t.Helper()
	o.Profile = c.profile
	in := " [" + strings.Join(c.in, " ,\n ") + "] "
	r := repair(t, shape, []byte(in), o)
	var got []json.RawMessage
	readJSON(t, r.History, &got)
	if len(got) != len(c.want) {
		t.Fatalf("input %s\n got %s\nwant %s", in, r.History, c.want)
	}
	for i, want := range c.want {
		was := slices.Contains(c.in, want)
		if was && string(got[i]) != want || !sameJSON(t, []byte("["+string(got[i])+"]"), []byte("["+want+"]")) {
			t.Errorf("input %s\nmessage %d\n got %s\nwant %s", in, i, got[i], want)
		}
	}
	same := slices.Equal(c.in, c.want)
	if r.Report.Patched == same || same != bytes.Equal(r.History, []byte(in)) || same != (len(r.Report.Ops) == 0) {
		t.Errorf("input %s\n got %s\nreport %+v", in, r.History, r.Report)
	}
	if r.Report.Profile != c.profile || r.Report.Format != shape || r.Report.Out != len(c.want) {
		t.Errorf("input %s\nreport %+v", in, r.Report)
	}
}

func deepagentsCases() []profileCase {
	malformed := func(id, name string) string {
		return fmt.Sprintf(`{"type":"tool","content":"Tool call %s with id %s could not be executed - arguments were malformed or truncated.","name":%q,"tool_call_id":%q}`, name, id, name, id)
	}
	both := `{"type":"ai","tool_calls":[` + lcCall("b", "y") + `],"invalid_tool_calls":[{"id":"a","name":"x","args":"{"}]}`
	noID := lcAI(`{"name":"x","args":{},"id":null}`, `{"name":"x","args":{}}`)
	noName := lcAI(`{"name":"","args":{},"id":"1"}`, `{"name":null,"args":{},"id":"2"}`)
	one := lcAI(lcCall("1", "x"))
	two := lcAI(lcCall("1", "x"), lcCall("2", "y"))
	blocks := `{"type":"ai","content":[{"type":"function_call","call_id":"1","name":"x","arguments":"{}"}],"tool_calls":[]}`
	dict := `{"type":"ai","data":{"content":"","tool_calls":[` + lcCall("1", "x") + `]}}`
	lc := `{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","tool_calls":[` + lcCall("1", "x") + `]}}`
	fields := strings.Trim(lcCancelled("1", "x"), "{}")
	p := "deepagents"
	return []profileCase{
		{"empty", p, nil, nil},
		{"nothing to do", p, []string{lcHuman, one, lcTool("1"), lcHuman}, []string{lcHuman, one, lcTool("1"), lcHuman}},
		{"calls, then invalid ones", p, []string{both}, []string{both, lcCancelled("b", "y"), malformed("a", "x")}},
		{"before the existing results", p, []string{two, lcTool("1")}, []string{two, lcCancelled("2", "y"), lcTool("1")}},
		{"a result before its call counts", p, []string{lcTool("1"), one, lcHuman}, []string{lcTool("1"), one, lcHuman}},
		{"a late result counts and stays", p, []string{one, lcHuman, lcTool("1")}, []string{one, lcHuman, lcTool("1")}},
		{"a reused id is masked", p, []string{one, lcTool("1"), lcHuman, one, lcHuman}, []string{one, lcTool("1"), lcHuman, one, lcHuman}},
		{"the first of a reused id too", p, []string{one, lcHuman, one, lcTool("1")}, []string{one, lcHuman, one, lcTool("1")}},
		{"one id twice in a message", p, []string{lcAI(lcCall("1", "x"), lcCall("1", "x"))}, []string{lcAI(lcCall("1", "x"), lcCall("1", "x")), lcCancelled("1", "x"), lcCancelled("1", "x")}},
		{"no id is skipped", p, []string{noID, lcHuman}, []string{noID, lcHuman}},
		{"an empty id is an id", p, []string{lcAI(lcCall("", "x"))}, []string{lcAI(lcCall("", "x")), lcCancelled("", "x")}},
		{"no name is unknown", p, []string{noName}, []string{noName, lcCancelled("1", "unknown"), lcCancelled("2", "unknown")}},
		{"orphans and duplicates stay", p, []string{lcTool("9"), one, lcTool("1"), lcTool("1")}, []string{lcTool("9"), one, lcTool("1"), lcTool("1")}},
		{"calls in content only are missed", p, []string{blocks, lcHuman}, []string{blocks, lcHuman}},
		{"a dict is answered by a dict", p, []string{dict}, []string{dict, `{"type":"tool","data":{` + fields + `}}`}},
		{"a constructor by a constructor", p, []string{lc}, []string{lc, `{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{` + fields + `}}`}},
	}
}

func deepagentsJSCases() []profileCase {
	one := lcAI(lcCall("1", "x"))
	two := lcAI(lcCall("1", "x"), lcCall("2", "y"))
	invalid := `{"type":"ai","tool_calls":[],"invalid_tool_calls":[{"id":"a","name":"x","args":"{"}]}`
	none := lcAI(`{"name":"x","args":{}}`)
	null := lcAI(`{"name":"x","args":{},"id":null}`)
	p := "deepagents-js"
	return []profileCase{
		{"empty", p, nil, nil},
		{"nothing to do", p, []string{lcHuman, one, lcTool("1")}, []string{lcHuman, one, lcTool("1")}},
		{"before the existing results", p, []string{two, lcTool("2"), lcHuman}, []string{two, lcCancelled("1", "x"), lcTool("2"), lcHuman}},
		{"orphans are removed anywhere", p, []string{lcTool("8"), lcHuman, lcTool("9"), one, lcTool("7"), lcTool("1")}, []string{lcHuman, one, lcTool("1")}},
		{"a result before its call is neither an orphan nor an answer", p, []string{lcTool("1"), one, lcHuman}, []string{lcTool("1"), one, lcCancelled("1", "x"), lcHuman}},
		{"a late result counts and stays", p, []string{one, lcHuman, lcTool("1")}, []string{one, lcHuman, lcTool("1")}},
		{"the first of a reused id is masked", p, []string{one, lcHuman, one, lcTool("1")}, []string{one, lcHuman, one, lcTool("1")}},
		{"the second of a reused id is not", p, []string{one, lcTool("1"), one, lcHuman}, []string{one, lcTool("1"), one, lcCancelled("1", "x"), lcHuman}},
		{"invalid calls are ignored and their results are orphans", p, []string{invalid, lcTool("a"), lcHuman}, []string{invalid, lcHuman}},
		{"the result of an empty id is removed, its call stays open", p, []string{lcAI(lcCall("", "x")), lcTool("")}, []string{lcAI(lcCall("", "x"))}},
		{"an empty id is answered with one", p, []string{lcAI(lcCall("", "x"))}, []string{lcAI(lcCall("", "x")), lcCancelled("", "x")}},
		{"no id is undefined", p, []string{none, lcTool("")}, []string{none, `{"type":"tool","content":"Tool call x with id undefined ` + cancelled + `","name":"x"}`}},
		{"null is null", p, []string{null}, []string{null, `{"type":"tool","content":"Tool call x with id null ` + cancelled + `","name":"x","tool_call_id":null}`}},
		{"an empty name stays", p, []string{lcAI(lcCall("1", ""))}, []string{lcAI(lcCall("1", "")), lcCancelled("1", "")}},
		{"duplicates stay", p, []string{one, lcTool("1"), lcTool("1")}, []string{one, lcTool("1"), lcTool("1")}},
	}
}

func sagentsCases() []profileCase {
	one := lcAI(lcCall("1", "x"))
	two := lcAI(lcCall("1", "x"), lcCall("2", "y"))
	invalid := `{"type":"ai","tool_calls":[],"invalid_tool_calls":[{"id":"a","name":"x","args":"{"}]}`
	p := "sagents"
	return []profileCase{
		{"empty", p, nil, nil},
		{"nothing to do", p, []string{lcHuman, one, lcTool("1")}, []string{lcHuman, one, lcTool("1")}},
		{"before the existing results", p, []string{two, lcTool("1")}, []string{two, lcCancelled("2", "y"), lcTool("1")}},
		{"orphans and duplicates stay", p, []string{lcTool("9"), one, lcTool("1"), lcTool("1")}, []string{lcTool("9"), one, lcTool("1"), lcTool("1")}},
		{"a result before its call is not an answer", p, []string{lcTool("1"), one}, []string{lcTool("1"), one, lcCancelled("1", "x")}},
		{"a late result counts and stays", p, []string{one, lcHuman, lcTool("1")}, []string{one, lcHuman, lcTool("1")}},
		{"the second of a reused id", p, []string{one, lcTool("1"), one}, []string{one, lcTool("1"), one, lcCancelled("1", "x")}},
		{"no id", p, []string{lcAI(lcCall("", "x")), lcHuman}, []string{lcAI(lcCall("", "x")), lcHuman}},
		{"invalid calls are ignored", p, []string{invalid, lcHuman}, []string{invalid, lcHuman}},
	}
}

func einoCall(id, name string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, id, name)
}

func einoTurn(calls ...string) string {
	return `{"role":"assistant","content":"","tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func einoTool(id string) string {
	return `{"role":"tool","content":"real","tool_call_id":"` + id + `"}`
}

func einoCases() []profileCase {
	canceled := func(word, id, name string) string {
		return fmt.Sprintf(`{"role":"tool","content":"Tool call %s with id %s was %s - another message came in before it could be completed.","tool_call_id":%q,"name":%q}`, name, id, word, id, name)
	}
	now := func(id, name string) string { return canceled("canceled", id, name) }
	then := func(id, name string) string { return canceled("cancelled", id, name) }
	user := `{"role":"user","content":"hm"}`
	one := einoTurn(einoCall("1", "x"))
	two := einoTurn(einoCall("1", "x"), einoCall("2", "y"))
	own := strings.TrimSuffix(one, "}") + `,"response_meta":{"finish_reason":"tool_calls"}}`
	nameless := `{"role":"tool","content":"Tool call  with id 1 was canceled - another message came in before it could be completed.","tool_call_id":"1"}`
	noID := `{"role":"tool","content":"Tool call x with id  was canceled - another message came in before it could be completed.","name":"x"}`
	return []profileCase{
		{"empty", "eino", nil, nil},
		{"nothing to do", "eino", []string{user, two, einoTool("2"), einoTool("1")}, []string{user, two, einoTool("2"), einoTool("1")}},
		{"before the existing results", "eino", []string{two, einoTool("1"), user}, []string{two, now("2", "y"), einoTool("1"), user}},
		{"a late result is not an answer and stays", "eino", []string{one, user, einoTool("1")}, []string{one, now("1", "x"), user, einoTool("1")}},
		{"a result after another call's result is an answer", "eino", []string{two, einoTool("9"), einoTool("1"), user, einoTool("2")}, []string{two, now("2", "y"), einoTool("9"), einoTool("1"), user, einoTool("2")}},
		{"a result before its call is not an answer", "eino", []string{einoTool("1"), one}, []string{einoTool("1"), one, now("1", "x")}},
		{"each use of a reused id is separate", "eino", []string{one, user, one, einoTool("1"), one}, []string{one, now("1", "x"), user, one, einoTool("1"), one, now("1", "x")}},
		{"an empty name stays", "eino", []string{einoTurn(einoCall("1", ""))}, []string{einoTurn(einoCall("1", "")), nameless}},
		{"an empty id stays", "eino", []string{einoTurn(einoCall("", "x"))}, []string{einoTurn(einoCall("", "x")), noID}},
		{"its own messages have a tool_name", "eino", []string{own}, []string{own, strings.Replace(now("1", "x"), `"name"`, `"tool_name"`, 1)}},
		{"a late result counts", "eino-0.8", []string{one, user, einoTool("1")}, []string{one, user, einoTool("1")}},
		{"a result before its call is not an answer", "eino-0.8", []string{einoTool("1"), one, user}, []string{einoTool("1"), one, then("1", "x"), user}},
		{"the first of a reused id is masked", "eino-0.8", []string{one, user, one, einoTool("1"), one}, []string{one, user, one, einoTool("1"), one, then("1", "x")}},
	}
}

func agenticCases() []profileCase {
	user := `{"role":"user","content":"hm"}`
	turn := `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{}},{"type":"tool_use","id":"2","name":"y","input":{}}]}`
	real := func(ids ...string) string {
		var blocks []string
		for _, id := range ids {
			blocks = append(blocks, `{"type":"tool_result","tool_use_id":"`+id+`","content":"real"}`)
		}
		return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
	}
	canceled := func(id, name string) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"Tool call %s with id %s was canceled - another message came in before it could be completed."}]}`, id, name, id)
	}
	withText := strings.Replace(real("1", "2"), `[{`, `[null,{"type":"text","text":"hm"},{`, 1)
	return []profileCase{
		{"agentic: one message per result", "eino", []string{turn, user}, []string{turn, canceled("1", "x"), canceled("2", "y"), user}},
		{"agentic: before the existing results", "eino", []string{turn, real("1"), user}, []string{turn, canceled("2", "y"), real("1"), user}},
		{"agentic: results in several messages", "eino", []string{turn, real("1"), real("2")}, []string{turn, real("1"), real("2")}},
		{"agentic: beside text and null", "eino", []string{turn, withText}, []string{turn, withText}},
		{"agentic: not behind a message without results", "eino", []string{turn, real("1"), user, real("2")}, []string{turn, canceled("2", "y"), real("1"), user, real("2")}},
	}
}

// TestProfileLanguage checks that eino has Chinese texts, and that the others
// refuse Chinese.
func TestProfileLanguage(t *testing.T) {
	turn := einoTurn(einoCall("1", "x"))
	answer := `{"role":"tool","content":"工具调用 x（ID 为 1）已被取消——在其完成之前收到了另一条消息。","tool_call_id":"1","name":"x"}`
	for _, p := range []string{"eino", "eino-0.8"} {
		checkProfile(t, patch.OpenAI, profileCase{p, p, []string{turn}, []string{turn, answer}}, patch.Options{Lang: "zh"})
	}
	for _, p := range []string{"deepagents", "deepagents-js", "sagents"} {
		err := patch.Options{Profile: p, Lang: "zh"}.Check()
		if want := "patch: profile " + p + ` has texts in en only, not in "zh"`; err == nil || err.Error() != want {
			t.Errorf("profile %s in Chinese\n got %v\nwant %s", p, err, want)
		}
		if err := (patch.Options{Profile: p, Lang: "en", Output: "ops", Dropped: true}).Check(); err != nil {
			t.Errorf("profile %s: %v", p, err)
		}
	}
}

// TestProfileOptions checks that options without effect beside a profile are
// refused by name.
func TestProfileOptions(t *testing.T) {
	yes := true
	o := patch.Options{
		Profile: "eino", Provider: "openai", Late: "note", Tail: "leave", RescueEarly: &yes, MergeRoles: &yes,
		Pending: []string{"1"}, Results: map[string]json.RawMessage{"1": []byte(`""`)}, Reasons: map[string]string{"1": "denied"},
		Template: "x", Placeholders: []string{"x"}, Log: make([]patch.Outcome, 1),
	}
	want := "patch: profile eino fixes how a history is repaired; without effect beside it: " +
		"provider, late, tail, rescue_early, merge_roles, pending, results, reasons, template, placeholders, the session's log"
	if err := o.Check(); err == nil || err.Error() != want {
		t.Errorf("options %s\n got %v\nwant %s", asJSON(o), err, want)
	}
	if _, err := patch.Repair(patch.OpenAI, []byte(`[]`), o); err == nil || err.Error() != want {
		t.Errorf("repair with options %s\n got %v\nwant %s", asJSON(o), err, want)
	}
}

// TestProfileShapes checks that a profile refuses histories of other shapes.
func TestProfileShapes(t *testing.T) {
	langchain, openai := "["+lcHuman+"]", "["+einoTurn(einoCall("1", "x"))+"]"
	for _, c := range []struct {
		profile string
		shape   patch.Shape
		history string
		want    string
	}{
		{"deepagents", "", openai, "patch: profile deepagents repairs histories of [langchain], and this one is of openai"},
		{"sagents", patch.Responses, `[{"type":"message"}]`, "patch: profile sagents repairs histories of [langchain], and this one is of responses"},
		{"eino", "", langchain, "patch: profile eino repairs histories of [openai anthropic], and this one is of langchain"},
		{"eino-0.8", patch.Anthropic, `[{"role":"user"}]`, "patch: profile eino-0.8 repairs histories of [openai], and this one is of anthropic"},
		{"deepagents-js", "", "[]", ""},
		{"eino", "", openai, ""},
	} {
		t.Run(fmt.Sprintf("%.60s", c.profile+" "+c.want), func(t *testing.T) {
			_, err := patch.Repair(c.shape, []byte(c.history), patch.Options{Profile: c.profile})
			if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
				t.Errorf("profile %s, shape %q, history %s\n got %v\nwant %s", c.profile, c.shape, c.history, err, c.want)
			}
		})
	}
}

// TestProfileOps checks the report and the steps of a repair under a profile.
func TestProfileOps(t *testing.T) {
	in := "[" + strings.Join([]string{lcTool("9"), lcHuman, lcAI(lcCall("1", "x"), lcCall("2", "y")), lcTool("1")}, ",") + "]"
	r := repair(t, patch.LangChain, []byte(in), patch.Options{Profile: "deepagents-js", Dropped: true})
	want := `[{"op":"result_added","turn":0,"message":2,"call":1,"id":"2","name":"y","reason":"new_message"},` +
		`{"op":"orphan_dropped","turn":-1,"message":0,"call":-1,"id":"9","hash":"bdacf7da397eac0e","dropped":"real"}]`
	if got := asJSON(r.Report.Ops); got != want {
		t.Errorf("input %s\n got %s\nwant %s", in, got, want)
	}
	r = repair(t, patch.LangChain, []byte(in), patch.Options{Profile: "deepagents-js", Output: "ops"})
	want = `[{"copy":[1,3]},{"insert":` + lcCancelled("2", "y") + `},{"copy":[3,4]}]`
	if got := asJSON(r.Script); !sameJSON(t, []byte(got), []byte(want)) {
		t.Errorf("input %s\n got %s\nwant %s", in, got, want)
	}
	invalid := `[{"type":"ai","invalid_tool_calls":[{"id":"a","name":"x","args":"{"}]}]`
	r = repair(t, patch.LangChain, []byte(invalid), patch.Options{Profile: "deepagents", Output: "check"})
	if op := r.Report.Ops[0]; op.Reason != "args" || op.Name != "x" || !r.Report.Patched {
		t.Errorf("input %s\n got %+v", invalid, r.Report)
	}
}

// TestProfileCorpus checks the systems' own test cases.
func TestProfileCorpus(t *testing.T) {
	names := map[any]string{"deepagents-py": "deepagents", "deepagents-js": "deepagents-js", "eino-0.9": "eino", "sagents": "sagents"}
	seen := map[string]int{}
	for _, c := range corpus(t) {
		name := names[c.Options["profile"]]
		if c.Kind != "peer" || name == "" {
			continue
		}
		seen[name]++
		t.Run(c.ID, func(t *testing.T) {
			o := patch.Options{Profile: name}
			if lang, ok := c.Options["lang"].(string); ok {
				o.Lang = lang
			}
			if got := repair(t, c.Format, c.Input, o).History; !sameJSON(t, got, c.Expected) {
				t.Errorf("%s\ninput %s\n got %s\nwant %s", c.Note, compact(c.Input), compact(got), compact(c.Expected))
			}
		})
	}
	if len(seen) != 4 {
		t.Errorf("the corpus only has cases of %v", seen)
	}
}

// TestProfileLeft checks that the report lists, with its place in the input, what a
// system leaves and a provider refuses.
func TestProfileLeft(t *testing.T) {
	user, one := `{"role":"user","content":"hm"}`, einoTurn(einoCall("1", "x"))
	for _, c := range []struct {
		profile string
		in      []string
		want    string
	}{
		{"eino", []string{one, user}, `[]`},
		{"eino", []string{user, one, user, einoTool("1")}, `[{"message":3,"rule":"duplicate_result","id":"1"}]`},
		{"eino-0.8", []string{user, one, user, einoTool("1")}, `[{"message":3,"rule":"misplaced_result","id":"1"}]`},
		{"eino", []string{einoTool("9"), one, einoTool("1")}, `[{"message":0,"rule":"orphan_result","id":"9"}]`},
		{"eino", []string{einoTurn(einoCall("", ""))}, `[{"message":0,"rule":"empty_call_id"},{"message":0,"rule":"empty_name"}]`},
		{"deepagents", []string{lcAI(lcCall("1", "x")), lcHuman, lcAI(lcCall("1", "x")), lcTool("1")}, `[{"message":0,"rule":"unanswered_call","id":"1"}]`},
		{"sagents", []string{lcAI(lcCall("1", "x"), lcCall("1", "y"))}, `[{"message":0,"rule":"duplicate_call_id","id":"1"}]`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.profile+" "+c.want), func(t *testing.T) {
			in := "[" + strings.Join(c.in, ",") + "]"
			r := repair(t, "", []byte(in), patch.Options{Profile: c.profile})
			if got := asJSON(r.Report.ViolationsLeft); got != c.want || r.Report.Sendable != (c.want == "[]") {
				t.Errorf("profile %s, input %s\n got %s, sendable %v\nwant %s", c.profile, in, got, r.Report.Sendable, c.want)
			}
		})
	}
}
