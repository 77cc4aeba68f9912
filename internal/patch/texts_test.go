package patch_test

import (
	"strings"
	"testing"

	"streamer/internal/patch"
)

// TestTemplates: the text of the most specific template is written, and found again.
func TestTemplates(t *testing.T) {
	history := `[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"a","type":"function","function":{"name":"send","arguments":"{\"to\":\"x\"}"}},` +
		`{"id":"b","type":"function","function":{"name":"send","arguments":"{}"}},` +
		`{"id":"c","type":"function","function":{"name":"find","arguments":"{}"}},` +
		`{"id":"d","type":"function","function":{"name":"open","arguments":"{}"}}]}]`
	o := patch.Options{
		Template:  "any {name}",
		Templates: map[string]string{"timeout": "late {id}", "send": "mail {args} of {id}", "send:timeout": "late mail {args}"},
		Reasons:   map[string]string{"b": "timeout", "c": "timeout"},
	}
	want := []string{`"content":"mail {\"to\":\"x\"} of a"`, `"content":"late mail {}"`, `"content":"late c"`, `"content":"any open"`}
	first, err := patch.Repair(patch.OpenAI, []byte(history), o)
	if err != nil {
		t.Fatal(err)
	}
	repaired := first.History
	for _, w := range want {
		if !strings.Contains(string(repaired), w) {
			t.Errorf("%s\nwant %s", repaired, w)
		}
	}
	late := strings.TrimSuffix(string(repaired), "]") + `,{"role":"tool","tool_call_id":"a","content":"sent"},{"role":"tool","tool_call_id":"b","content":"sent"}]`
	again, err := patch.Repair(patch.OpenAI, []byte(late), o)
	if text := string(again.History); err != nil || strings.Contains(text, "mail") || strings.Count(text, `"content":"sent"`) != 2 {
		t.Errorf("with real results: %s, %v", text, err)
	}
	if _, err := patch.ParseOptions([]byte(`{"templates":{"send":""}}`)); err == nil {
		t.Error("an empty template is accepted")
	}
}

// TestMaxArgs: long strings in the args of old calls are cut once, and those of the last
// turn and of signed turns stay.
func TestMaxArgs(t *testing.T) {
	long := strings.Repeat("é", 200)
	for shape, history := range map[patch.Shape]string{
		patch.OpenAI: `[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"write","arguments":"{\"path\":\"p\",\"text\":\"LONG\"}"}}]},{"role":"tool","tool_call_id":"a","content":"ok"},` +
			`{"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"write","arguments":"{\"text\":\"LONG\"}"}}]},{"role":"tool","tool_call_id":"b","content":"ok"}]`,
		patch.Anthropic: `[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"write","input":{"path":"p","text":"LONG"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]},` +
			`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"c","name":"write","input":{"text":"LONG"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"ok"}]},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"write","input":{"text":"LONG"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"ok"}]}]`,
	} {
		t.Run(string(shape), func(t *testing.T) {
			history = strings.ReplaceAll(history, "LONG", long)
			first, err := patch.Repair(shape, []byte(history), patch.Options{MaxArgs: 100})
			if err != nil {
				t.Fatal(err)
			}
			once := first.History
			stay := strings.Count(history, long) - 1
			if got := strings.Count(string(once), long); got != stay || strings.Count(string(once), "bytes left out)") != 1 {
				t.Errorf("%d strings stay, want %d: %s", got, stay, once)
			}
			again, err := patch.Repair(shape, once, patch.Options{MaxArgs: 100})
			if err != nil || string(again.History) != string(once) {
				t.Errorf("again: %s, %v", again.History, err)
			}
		})
	}
	if _, err := patch.ParseOptions([]byte(`{"max_args":99}`)); err == nil {
		t.Error("99 is accepted")
	}
}
