package patch_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"streamer/internal/patch"
	"streamer/test/testkit"
)

// shapeCase is a file of the cases for the shapes of frontends and SDKs.
type shapeCase struct {
	ID, Note string
	Format   patch.Shape
	Options  object
	Input    json.RawMessage
	InputRaw string `json:"input_raw"`
	Expect   struct {
		Status                         string // healthy, patched or refused
		Sendable                       bool
		Ops                            []string
		OpsMay                         []string          `json:"ops_may"`
		OpsAlt                         map[string]string `json:"ops_alt"`
		Survive, Untouched, Gone, Open []string
		FormatAlso                     []string `json:"format_also"`
		Synthetic                      []struct{ ID, Name, Reason string }
		ViolationsLeft                 []any `json:"violations_left"`
	}
}

// shapeCases reads the cases from the directory STREAMER_SHARED, by default one
// beside the repository.
func shapeCases(t testing.TB) []shapeCase {
	files, _ := filepath.Glob(testkit.Shared("patch/shapes/cases/*.json"))
	var cases []shapeCase
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c shapeCase
		if readJSON(t, text, &c); slices.Contains(patch.Repairable(), c.Format) {
			cases = append(cases, c)
		}
	}
	return cases
}

// messagesIn returns the list of messages of a history, nil if there is none.
func messagesIn(history []byte) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(history, &list) == nil && list != nil {
		return history
	}
	var body map[string]json.RawMessage
	if json.Unmarshal(history, &body) != nil {
		return nil
	}
	for _, field := range []string{"messages", "contents", "input"} {
		if body[field] != nil {
			return body[field]
		}
	}
	return nil
}

// TestShapeCases checks what the repair does with each case.
func TestShapeCases(t *testing.T) {
	cases := shapeCases(t)
	if len(cases) == 0 {
		t.Skip("no cases in ../shared/patch/shapes/cases; set STREAMER_SHARED to the directory that contains patch/shapes")
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			input := []byte(c.InputRaw)
			if c.InputRaw == "" {
				input = []byte(compact(c.Input))
			}
			o := optionsOf(t, c.Options)
			r, err := patch.Repair(patch.Auto, input, o)
			if refused := err != nil; refused != (c.Expect.Status == "refused") {
				t.Fatalf("%s\ninput %s\nerror %v, want %s", c.Note, input, err, c.Expect.Status)
			}
			if err == nil {
				checkShapeCase(t, c, input, o, r)
			}
		})
	}
}

func checkShapeCase(t *testing.T, c shapeCase, input []byte, o patch.Options, r patch.Repaired) {
	if r.Report.Format != c.Format && !slices.Contains(c.Expect.FormatAlso, string(r.Report.Format)) {
		t.Errorf("format %s, want %s", r.Report.Format, c.Format)
	}
	if healthy := bytes.Equal(r.History, input); healthy != (c.Expect.Status == "healthy") || r.Report.Patched == healthy || r.Report.Sendable != c.Expect.Sendable {
		t.Errorf("%s, sendable %v, report %s\ninput %s\n  got %s", c.Expect.Status, c.Expect.Sendable, asJSON(r.Report), input, r.History)
	}
	have := kinds(r.Report)
	for _, op := range c.Expect.Ops {
		i := slices.Index(have, op)
		if alt := c.Expect.OpsAlt[op]; i < 0 && alt != "" {
			i = slices.Index(have, alt)
		}
		if i < 0 {
			t.Fatalf("no op %s in %v", op, kinds(r.Report))
		}
		have = slices.Delete(have, i, i+1)
	}
	for _, op := range have {
		if !slices.Contains(c.Expect.OpsMay, op) {
			t.Errorf("unexpected op %s", op)
		}
	}
	for _, s := range c.Expect.Synthetic {
		if s.Reason != "" && !slices.ContainsFunc(r.Report.Ops, func(op patch.Op) bool {
			return op.Op == "result_added" && op.Reason == s.Reason && op.Name == s.Name
		}) {
			t.Errorf("no result of %s with the reason %s in %s", s.Name, s.Reason, asJSON(r.Report.Ops))
		}
	}
	for _, text := range slices.Concat(c.Expect.Survive, c.Expect.Untouched) {
		if !bytes.Contains(r.History, []byte(text)) {
			t.Errorf("%s is not in %s", text, r.History)
		}
	}
	for _, text := range c.Expect.Gone {
		if bytes.Contains(r.History, []byte(text)) {
			t.Errorf("%s is still in %s", text, r.History)
		}
	}
	if c.Expect.Sendable && len(c.Expect.ViolationsLeft) == 0 {
		checkValid(t, c.Format, messagesIn(r.History), o)
	}
	checkFixpoint(t, patch.Auto, r.History, o)
}
