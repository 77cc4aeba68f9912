package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestCutsDoNotMatter folds each stream as one event per input, as one input, as raw SSE
// and in pieces. Calls, their synthesised ids, messages and runs are the same.
func TestCutsDoNotMatter(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	for i, file := range files {
		if i%stride > 0 {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if data[0] != '{' && data[0] != '[' || len(data) > 64<<10 {
			continue
		}
		lines := slices.Collect(bytes.Lines(data))
		var sse [][]byte
		for _, line := range lines {
			sse = append(sse, fmt.Appendf(nil, "data: %s\n\n", bytes.TrimSpace(line)))
		}
		want := outcome(t, lines)
		for how, inputs := range map[string][][]byte{
			"one input":           {data},
			"pieces of 100 bytes": slices.Collect(slices.Chunk(data, 100)),
			"bytes":               slices.Collect(slices.Chunk(data, 1)),
			"events of SSE":       sse,
			"raw SSE":             {bytes.Join(sse, nil)},
			"raw SSE in pieces":   slices.Collect(slices.Chunk(bytes.Join(sse, nil), 70)),
		} {
			if got := outcome(t, inputs); got != want {
				t.Errorf("%s as %s\n got\n%s\nwant\n%s", file, how, got, want)
				break
			}
		}
	}
}

// outcome returns the calls and events of inputs without what refers to the inputs.
func outcome(t *testing.T, inputs [][]byte) string {
	t.Helper()
	var a Assembly
	for _, in := range inputs {
		a.Line(in)
	}
	a.End()
	var b strings.Builder
	for i := range a.Events {
		e := &a.Events[i]
		fmt.Fprint(&b, e.Type, " ", e.ID, " ", e.ToolName, " ", e.Status, " ", e.Args, e.Content, e.FinishReason)
		if e.Place != nil {
			fmt.Fprintf(&b, " %+v", *e.Place)
		}
		if e.Reason != nil && e.Type != events.Rejected {
			b.WriteString(" " + string(e.Reason.Code))
		}
		b.WriteByte('\n')
	}
	calls, err := json.Marshal(a.Calls())
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + string(calls)
}
