package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/patch"
	"streamer/test/testkit"
)

// repaired is a repaired history for repaired.mjs.
type repaired struct {
	ID       string          `json:"id"`
	Format   patch.Shape     `json:"format"`
	Messages json.RawMessage `json:"messages"`
}

// TestRepaired checks that the packages which take the messages of ai-ui, ai-model and
// ag-ui accept repaired histories: ai 5, 6 and 7 and @ag-ui/core.
func TestRepaired(t *testing.T) {
	requireClients(t)
	histories := append(repairedScripts(t), repairedCases(t)...)
	if len(histories) < 20 {
		t.Fatalf("%d histories, want at least 20", len(histories))
	}
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, h := range histories {
		if err := enc.Encode(h); err != nil {
			t.Fatal(err)
		}
	}
	node := exec.CommandContext(t.Context(), "node", "repaired.mjs")
	node.Stdin, node.Stderr = &in, os.Stderr
	out, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range bytes.Lines(out) {
		var verdict struct {
			ID     string
			Errors []string
		}
		if err := json.Unmarshal(line, &verdict); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		checked++
		if len(verdict.Errors) > 0 {
			i := slices.IndexFunc(histories, func(h repaired) bool { return h.ID == verdict.ID })
			t.Errorf("%s: %s\n%s", verdict.ID, strings.Join(verdict.Errors, "\n"), compact(histories[i].Messages))
		}
	}
	if checked != len(histories) {
		t.Errorf("%d verdicts for %d histories", checked, len(histories))
	}
}

// repairedScripts repairs the histories of the scripts of internal/patch.
func repairedScripts(t *testing.T) (all []repaired) {
	for _, format := range []patch.Shape{patch.AIUI, patch.AIModel, patch.AGUI} {
		text, err := os.ReadFile(filepath.Join("../../internal/patch/testdata/repair", string(format)+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for i, script := range strings.Split(string(text), "====\n") {
			title, rest, _ := strings.Cut(script, "\n")
			head, body, _ := strings.Cut(rest, "\n")
			_, options, _ := strings.Cut(head, " ")
			input, _, _ := strings.Cut(body, "\n---\n")
			o, err := patch.ParseOptions([]byte(options))
			if err != nil {
				t.Fatal(err)
			}
			all = add(all, fmt.Sprintf("%s %d %s", format, i, title), []byte("["+strings.ReplaceAll(input, "\n", ",")+"]"), o)
		}
	}
	return all
}

// repairedCases repairs the cases beside the repository, if there are any.
func repairedCases(t *testing.T) (all []repaired) {
	files, _ := filepath.Glob(testkit.Shared("patch/shapes/cases/a*.json"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			ID       string
			Input    json.RawMessage
			InputRaw string `json:"input_raw"`
			Options  json.RawMessage
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(f, err)
		}
		if c.Options == nil {
			c.Options = []byte("{}")
		}
		o, err := patch.ParseOptions(c.Options)
		if err != nil {
			t.Fatal(f, err)
		}
		if c.InputRaw != "" {
			c.Input = []byte(c.InputRaw)
		}
		all = add(all, c.ID, c.Input, o)
	}
	return all
}

// add repairs a history and adds it, unless it is refused, or cannot be sent.
func add(all []repaired, id string, history []byte, o patch.Options) []repaired {
	r, err := patch.Repair(patch.Auto, history, o)
	if err != nil || !r.Report.Sendable {
		return all
	}
	h := repaired{ID: id, Format: r.Report.Format, Messages: r.History}
	var body struct{ Messages json.RawMessage }
	if json.Unmarshal(r.History, &body) == nil && body.Messages != nil {
		h.Messages = body.Messages
	}
	return append(all, h)
}

// compact returns JSON without white space.
func compact(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}
